import type { Message, ToolResultPart } from "@holdfast/client";
import { useState } from "react";
import { ChatLog } from "@/engine/chat-store";
import { ChatSession } from "@/features/chat/session";
import { ChatSessionProvider } from "@/features/chat/session-provider";
import {
  EmptyTranscript,
  LoadingTranscript,
  UnavailableTranscript,
} from "@/features/transcript/states";
import { Transcript } from "@/features/transcript/transcript";
import * as f from "@/testing/fixtures";
import { Group, State } from "./frame";

const FRAME = "flex h-96 flex-col overflow-hidden rounded-card border border-line";

function opened(messages: readonly Message[], status: string): ChatSession {
  const log = new ChatLog(`gallery-${status}`, (publish) => publish());
  const head = { cursor: null, version: 1, final: true };
  for (const data of messages) log.apply({ type: "message.created", ...head, data });
  const nothing = { retry: null, error: null, action_required: null };
  const now = {
    ...{ status, archived: false, attempt: 1, model: "sim-large" },
    ...{ effort: null, web: null, plan_mode: false },
  };
  log.apply({ type: "chat.state", ...head, data: { ...now, ...nothing } });
  return new ChatSession(log, f.ACTIONS);
}

type Given = [string, Record<string, unknown>, unknown, Partial<ToolResultPart>?];

function calls(seq: number, ...given: Given[]): Message[] {
  const parts = given.map(([tool, args], at) => ({
    type: "tool_call" as const,
    digest: null,
    call_id: `${seq}.${at}`,
    tool_name: tool,
    arguments: args,
    action_required: null,
    executed_by: "server" as const,
  }));
  const results = given.map(([tool, , output, fields], at) =>
    f.result(`${seq}.${at}`, tool, output, fields),
  );
  return [f.message(seq, "assistant", parts), f.message(seq + 1, "tool", results)];
}

const HISTORY: readonly Message[] = [
  f.message(1, "user", [
    f.text("The tests in `tests/test_clock.py` fail since this morning. Find out why and fix it."),
  ]),
  ...calls(
    2,
    ["read_file", { path: "src/tide/clock.py" }, "…"],
    ["search_files", { pattern: "naive" }, "…"],
  ),
  ...calls(4, [
    "execute",
    { command: "uv run pytest -q" },
    `exit code 1 (1.0 s)\n\n${f.PYTEST}`,
    f.ended(1, 3200),
  ]),
  ...calls(6, [
    "edit_file",
    { path: "src/tide/clock.py", edits: [] },
    "Edited src/tide/clock.py: 1 replacement (line 14).",
    { diff: f.DIFF },
  ]),
  ...calls(8, [
    "execute",
    { command: "uv run pytest -q" },
    "exit code 0 (1.0 s)\n\n42 passed",
    f.ended(0, 3100),
  ]),
  f.message(
    10,
    "assistant",
    [f.text("Fixed: `Clock.now` returned naive times. It says UTC now, and all 42 tests pass.")],
    {
      usage: {
        input_tokens: 48_200,
        cache_read_tokens: 41_000,
        output_tokens: 930,
        cache_write_tokens: null,
        reasoning_tokens: null,
      },
      cost_micro_usd: 61_000,
    },
  ),
  f.message(11, "user", [f.text("Thanks. Is anything like that elsewhere?")]),
  ...calls(12, ["search_files", { pattern: "datetime\\.now\\(\\)" }, "…"]),
];

export function TranscriptStates() {
  const [going] = useState(() => opened(HISTORY, "running"));
  const [over] = useState(() => opened(HISTORY.slice(0, 10), "idle"));
  const common = { models: [], mayWrite: true };
  return (
    <Group title="Transcript">
      <State name="Nothing said yet">
        <div className={FRAME}>
          <EmptyTranscript />
        </div>
      </State>
      <State name="Loading">
        <div className={FRAME}>
          <LoadingTranscript afterMs={0} />
        </div>
      </State>
      <State name="Not here">
        <div className={FRAME}>
          <UnavailableTranscript />
        </div>
      </State>
      <State name="A turn that is over">
        <div className={FRAME}>
          <ChatSessionProvider session={over}>
            <Transcript {...common} />
          </ChatSessionProvider>
        </div>
      </State>
      <State name="A turn that goes on">
        <div className={FRAME}>
          <ChatSessionProvider session={going}>
            <Transcript {...common} />
          </ChatSessionProvider>
        </div>
      </State>
    </Group>
  );
}
