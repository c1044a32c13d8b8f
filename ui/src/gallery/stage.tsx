/**
 * A transcript and a composer on a stage: `stage` in the console tells the log what happens, so that a
 * script (`scripts/scroll.mjs`) can watch the scroll without a server.
 */
import "@/main.css";
import { createRoot } from "react-dom/client";
import { ChatLog } from "@/log/store";
import type { Message, Part } from "@/log/types";
import { Composer, Transcript } from "@/parts";
import * as f from "./fixtures";

const SHOWN_MAX = 1000;
const asked = new URLSearchParams(location.search);
const size = Math.min(20_000, Number(asked.get("messages") ?? SHOWN_MAX));
const log = new ChatLog("stage");
let cursor = 0;

function tell(event: string, data: unknown): void {
  cursor++;
  log.apply({ event, data, id: `${cursor}.0.0` });
}

function status(now: string, attempt = 1): void {
  tell("status", { status: now, archived: false, attempt, model: "sim", effort: null });
}

const WORDS =
  "A reply of some length, with **bold**, `code` and a [link](https://example.com), told again and again. ";

/** Turns of a question, some steps and an answer, as long chats have them. */
function history(from: number, count: number): Message[] {
  return Array.from({ length: count }, (_, at) => {
    const seq = from + at;
    const place = seq % 20;
    if (place === 1) return f.message(seq, "user", [f.text(`Question ${seq}`)]);
    if (place === 0) return f.message(seq, "assistant", [f.text(answer(seq))]);
    if (place % 2 === 1)
      return f.message(seq, "tool", [
        f.result(`c${seq - 1}`, "execute", "exit code 0 after 1.0 s\nok"),
      ]);
    const call: Part = {
      kind: "tool_call",
      digest: null,
      call_id: `c${seq}`,
      tool: "execute",
      arguments: { command: `make step-${seq}` },
      needs: "nothing",
      runs_at: "here",
    };
    return f.message(seq, "assistant", [call]);
  });
}

function answer(seq: number): string {
  const code = seq % 40 === 0 ? "\n\n```python\nprint('hello')\n```\n" : "";
  return `Answer ${seq}.\n\n${WORDS.repeat(3 + (seq % 7))}${code}`;
}

const stage = {
  log,
  tell,
  status,
  history,
  /** The next part of what is being said. */
  part: (seq: number, text: string, index = 0) =>
    tell("part", { attempt: 1, seq, deltas: [{ index, kind: "text", text }] }),
  commit: (text: string) =>
    tell(
      "message",
      f.message((log.now.messages.at(-1)?.seq ?? 0) + 1, "assistant", [f.text(text)]),
    ),
  ask: (text: string) =>
    tell("message", f.message((log.now.messages.at(-1)?.seq ?? 0) + 1, "user", [f.text(text)])),
  prepend: (count: number) => {
    const first = log.now.messages[0]?.seq ?? 1;
    const before = Math.max(1, first - count);
    log.prepend(log.now.older ?? 0, history(before, first - before), before > 1 ? before : null);
  },
};
Object.assign(globalThis, { stage });

const first = 10_001;
tell("history_reset", { from: 1, older: first });
for (const message of history(first, size)) tell("message", message);
status("idle", 0);

const actions = {
  ...f.ACTIONS,
  loadOlder: () => new Promise<void>(() => {}), // the script prepends when it wants to
};

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <main className="flex h-dvh flex-col">
      <Transcript log={log} actions={actions} models={[]} mayWrite />
      <Composer
        chatId="stage"
        log={log}
        actions={actions}
        models={[]}
        defaultModel={null}
        onSend={() => {}}
        refused={null}
      />
    </main>,
  );
}
