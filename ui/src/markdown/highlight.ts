/** Asks the highlighter, which works in a thread of its own and begins with the first question. */
import address from "./highlight-worker?worker&url";

export interface Token {
  text: string;
  style: React.CSSProperties;
}
export interface HighlightRequest {
  id: number;
  code: string;
  language: string;
}
/** `null`: it cannot be done. */
export interface HighlightResponse {
  id: number;
  lines: Token[][] | null;
}

let worker: Worker | null = null;
let lastId = 0;
const waiting = new Map<number, (lines: Token[][] | null) => void>();

function highlighter(): Worker {
  if (worker !== null) return worker;
  worker = new Worker(trusted(address), { type: "module" });
  worker.addEventListener("message", ({ data: { id, lines } }: MessageEvent<HighlightResponse>) => {
    waiting.get(id)?.(lines);
    waiting.delete(id);
  });
  worker.addEventListener("error", () => {
    for (const tell of waiting.values()) tell(null);
    waiting.clear();
    worker?.terminate();
    worker = null;
  });
  return worker;
}

/** Our policy lets no string become a script; this one is the name of a file of ours. */
function trusted(file: string): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (types === undefined) return file;
  return types.createPolicy("highlighter", { createScriptURL: () => file }).createScriptURL("");
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: () => string },
  ): { createScriptURL: (given: string) => string };
}

export async function tokenize(code: string, language: string): Promise<Token[][]> {
  const id = ++lastId;
  const lines = await new Promise<Token[][] | null>((resolve) => {
    waiting.set(id, resolve);
    highlighter().postMessage({ id, code, language } satisfies HighlightRequest);
  });
  if (lines === null) throw new Error(`There are no colours for ${language}.`);
  return lines;
}
