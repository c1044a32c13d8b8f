/** Asks the frame that draws diagrams (main.ts), which is fetched for the first of them. */
import { BASE } from "@/api/client";
import type { DiagramRequest, DiagramResponse } from "./messages";

export interface Picture {
  address: string;
  width: number;
  height: number;
}

const ANSWER_MS = 15_000;
const KEPT_MAX = 50;

interface Frame {
  port: MessagePort;
  waiting: Map<number, (picture: DiagramResponse["picture"]) => void>;
  remove(): void;
}

const kept = new Map<string, Promise<Picture | null>>();
let frame: Promise<Frame> | null = null;
let lastId = 0;

/** `null`: it cannot be drawn. */
export function draw(source: string, isDark: boolean): Promise<Picture | null> {
  const key = `${isDark}\n${source}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const asked = ask(source, isDark);
  kept.set(key, asked);
  const [oldest] = kept;
  if (kept.size > KEPT_MAX && oldest !== undefined) {
    kept.delete(oldest[0]);
    void oldest[1].then((picture) => picture && URL.revokeObjectURL(picture.address));
  }
  return asked;
}

async function ask(source: string, isDark: boolean): Promise<Picture | null> {
  frame ??= newFrame();
  const { port, waiting, remove } = await frame;
  const id = ++lastId;
  const picture = await new Promise<DiagramResponse["picture"]>((resolve) => {
    const timer = setTimeout(() => {
      remove(); // it may never answer again: the next diagram gets another one
      resolve(null);
    }, ANSWER_MS);
    waiting.set(id, (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    port.postMessage({ id, source, isDark } satisfies DiagramRequest);
  });
  if (picture === null) return null;
  const { svg, width, height } = picture;
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  return { address, width, height };
}

function newFrame(): Promise<Frame> {
  const element = document.createElement("iframe");
  element.setAttribute("sandbox", "allow-scripts");
  element.className = "diagram-frame";
  element.ariaHidden = "true";
  element.tabIndex = -1;
  element.title = "";
  element.src = `${BASE}diagram.html`;
  return new Promise((resolve) => {
    element.addEventListener("load", () => {
      const { port1: port, port2 } = new MessageChannel();
      const waiting: Frame["waiting"] = new Map();
      port.onmessage = ({ data: { id, picture } }: MessageEvent<DiagramResponse>) => {
        waiting.get(id)?.(picture);
        waiting.delete(id);
      };
      const remove = () => {
        element.remove();
        for (const tell of waiting.values()) tell(null);
        frame = null;
      };
      element.contentWindow?.postMessage(null, "*", [port2]); // an opaque origin has no name
      resolve({ port, waiting, remove });
    });
    document.body.append(element);
  });
}
