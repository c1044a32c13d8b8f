import { useState } from "react";
import { ChatLog } from "@/log/store";
import type { Message } from "@/log/types";
import { AwayTranscript, EmptyTranscript, LoadingTranscript } from "@/parts/transcript/states";
import { Transcript } from "@/parts/transcript/transcript";
import * as f from "./fixtures";
import { Group, State } from "./gallery";

const FRAME = "flex h-96 flex-col overflow-hidden rounded-card border border-line";

function opened(messages: readonly Message[], status: string): ChatLog {
  const log = new ChatLog(`gallery-${status}`, (publish) => publish());
  log.apply({ event: "history_reset", data: { from: 1, older: null }, id: "1.0.0.0" });
  for (const message of messages)
    log.apply({ event: "message", data: message, id: `1.0.0.${message.seq}` });
  const now = { status, archived: false, attempt: 1, model: "sim-large", effort: null };
  log.apply({ event: "status", data: now, id: "1.0.0" });
  return log;
}

function calls(seq: number, ...given: [string, Record<string, unknown>, unknown][]): Message[] {
  const parts = given.map(([tool, args], at) => ({
    kind: "tool_call" as const,
    digest: null,
    call_id: `${seq}.${at}`,
    tool,
    arguments: args,
    needs: "nothing" as const,
    runs_at: "here" as const,
  }));
  const results = given.map(([tool, , output], at) => f.result(`${seq}.${at}`, tool, output));
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
  ...calls(4, ["execute", { command: "uv run pytest -q" }, `exit code 1 after 3.2 s\n${f.PYTEST}`]),
  ...calls(6, [
    "edit_files",
    { files: [{ path: "src/tide/clock.py", changes: [] }] },
    { files: [{ path: "src/tide/clock.py", diff: f.DIFF }] },
  ]),
  ...calls(8, ["execute", { command: "uv run pytest -q" }, "exit code 0 after 3.1 s\n42 passed"]),
  f.message(
    10,
    "assistant",
    [f.text("Fixed: `Clock.now` returned naive times. It says UTC now, and all 42 tests pass.")],
    {
      usage: { input: 48_200, cache_read: 41_000, output: 930 },
      cost_micros: 61_000,
    },
  ),
  f.message(11, "user", [f.text("Thanks. Is anything like that elsewhere?")]),
  ...calls(12, ["search_files", { pattern: "datetime\\.now\\(\\)" }, "…"]),
];

export function TranscriptStates() {
  const [going] = useState(() => opened(HISTORY, "running"));
  const [over] = useState(() => opened(HISTORY.slice(0, 10), "idle"));
  const common = { actions: f.ACTIONS, models: [], mayWrite: true };
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
          <AwayTranscript />
        </div>
      </State>
      <State name="A turn that is over">
        <div className={FRAME}>
          <Transcript log={over} {...common} />
        </div>
      </State>
      <State name="A turn that goes on">
        <div className={FRAME}>
          <Transcript log={going} {...common} />
        </div>
      </State>
    </Group>
  );
}
