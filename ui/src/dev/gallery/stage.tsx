/**
 * A transcript and a composer on a stage: `stage` in the console tells the log what happens, so that a
 * script (`scripts/scroll.mjs`) can watch the scroll without a server.
 */
import "@/main.css";
import type { Message, MessagePart } from "@holdfast/client";
import { createRoot } from "react-dom/client";
import { ChatLog } from "@/engine/chat-store";
import { ChatSessionProvider, Composer, Transcript } from "@/features/chat";
import { ChatSession } from "@/features/chat/session";
import * as f from "@/testing/fixtures";

const SHOWN_MAX = 1000;
const asked = new URLSearchParams(location.search);
const size = Math.min(20_000, Number(asked.get("messages") ?? SHOWN_MAX));
const log = new ChatLog("stage");
let cursor = 0;

function tell(type: string, data: unknown): void {
  cursor++;
  log.apply({ type, cursor: `cursor ${cursor}`, version: cursor, final: true, data });
}

function status(now: string, attempt = 1): void {
  const nothing = { retry: null, error: null, action_required: null };
  tell("chat.state", {
    ...{
      status: now,
      archived: false,
      attempt,
      model: "sim",
      effort: null,
      web: null,
      plan_mode: false,
    },
    ...nothing,
  });
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
        f.result(`c${seq - 1}`, "execute", "exit code 0 (1.0 s)\n\nok", f.ended(0, 1000)),
      ]);
    const call: MessagePart = {
      type: "tool_call",
      digest: null,
      call_id: `c${seq}`,
      tool_name: "execute",
      arguments: { command: `make step-${seq}` },
      action_required: null,
      executed_by: "server",
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
  part: (number: number, text: string, index = 0) =>
    tell("preview.delta", {
      attempt: 1,
      index: number,
      deltas: [{ type: "text", index, text }],
    }),
  commit: (text: string) =>
    tell(
      "message.created",
      f.message((log.now.messages.at(-1)?.seq ?? 0) + 1, "assistant", [f.text(text)]),
    ),
  ask: (text: string) =>
    tell(
      "message.created",
      f.message((log.now.messages.at(-1)?.seq ?? 0) + 1, "user", [f.text(text)]),
    ),
  prepend: (count: number) => {
    const first = log.now.messages[0]?.seq ?? 1;
    const before = Math.max(1, first - count);
    log.prepend(log.now.older ?? 0, history(before, first - before), before > 1 ? before : null);
  },
};
Object.assign(globalThis, { stage });

const first = 10_001;
tell("history.reset", { from_seq: 1, older_before_seq: first, reason: "snapshot" });
for (const message of history(first, size)) tell("message.created", message);
status("idle", 0);

const actions = {
  ...f.ACTIONS,
  loadOlder: () => new Promise<void>(() => {}), // the script prepends when it wants to
};

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <main className="flex h-dvh flex-col">
      <ChatSessionProvider session={new ChatSession(log, actions)}>
        <Transcript models={[]} mayWrite />
        <Composer
          chatId="stage"
          log={log}
          actions={actions}
          models={[]}
          defaultModel={null}
          onSend={() => {}}
          refused={null}
        />
      </ChatSessionProvider>
    </main>,
  );
}
