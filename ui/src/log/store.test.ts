import { describe, expect, it } from "vitest";
import { keyOf } from "./rows";
import { ChatLog } from "./store";
import type { Message, StatusNow } from "./types";

function message(seq: number, role: Message["role"], parts: Message["parts"]): Message {
  return {
    seq,
    role,
    parts,
    ending: "complete",
    model: "sim",
    effort: null,
    author_id: null,
    usage: role === "assistant" ? { input: 10, output: 5 } : null,
    cost_micros: role === "assistant" ? 7 : null,
    created_at: "2026-01-01T00:00:00+00:00",
    revision: seq,
  };
}

const said = (text: string): Message["parts"] => [{ kind: "text", text }];
const status = (now: StatusNow["status"]): StatusNow => ({
  status: now,
  archived: false,
  attempt: 1,
  model: "sim",
  effort: null,
});

function opened() {
  let publish = (): void => {};
  const log = new ChatLog("c", (act) => {
    publish = act;
  });
  const rows = () => {
    publish();
    return log.snapshot().rows;
  };
  return { log, rows };
}

const part = (seq: number, text: string) => ({
  event: "part",
  data: { attempt: 1, seq, deltas: [{ index: 0, kind: "text", text }] },
});

describe("rows", () => {
  it("keep the key of what is being said when it is committed", () => {
    const { log, rows } = opened();
    log.apply({ event: "message", data: message(1, "user", said("hi")) });
    log.apply({ event: "status", data: status("running") });
    log.apply(part(1, "Hel"));
    const live = rows().at(-1);
    expect(live).toMatchObject({ kind: "step", message: null, key: keyOf(2) });
    log.apply({ event: "message", data: message(2, "assistant", said("Hello")) });
    log.apply({ event: "status", data: status("idle") });
    expect(rows().at(-1)).toMatchObject({ kind: "step", key: keyOf(2), ends: { costMicros: 7 } });
  });

  it("are the same array while only deltas come", () => {
    const { log, rows } = opened();
    log.apply({ event: "message", data: message(1, "user", said("hi")) });
    log.apply({ event: "status", data: status("running") });
    const before = rows();
    log.apply(part(1, "Hel"));
    log.apply(part(2, "lo"));
    expect(rows()).toBe(before);
    expect(log.snapshot().view.preview?.seq).toBe(2);
  });

  it("have the results of their calls, and no row is made of those", () => {
    const { log, rows } = opened();
    log.apply({ event: "message", data: message(1, "user", said("hi")) });
    const call = {
      kind: "tool_call",
      digest: null,
      call_id: "c1",
      tool: "clock",
      arguments: {},
      needs: "nothing",
      runs_at: "here",
    } as const;
    log.apply({ event: "message", data: message(2, "assistant", [call]) });
    log.apply({ event: "status", data: status("running") });
    const [user, asking] = rows();
    const result = {
      kind: "tool_result",
      call_id: "c1",
      tool: "clock",
      output: "12:00",
      failed: false,
      synthetic: null,
      runs_at: "here",
    } as const;
    log.apply({ event: "message", data: message(3, "tool", [result]) });
    const after = rows();
    expect(after.map((row) => row.key)).toEqual(["m1", "m2", "m4"]);
    expect(after[0]).toBe(user);
    expect(after[1]).not.toBe(asking);
    expect(after[1]).toMatchObject({ results: { c1: { output: "12:00" } } });
  });
});

describe("what was sent from here", () => {
  const sending = {
    clientKey: "k",
    text: "hi",
    model: null,
    state: "sending",
    why: null,
    afterSeq: 3,
    at: 0,
  } as const;

  it("is shown once, whether the stream or the answer comes first", () => {
    for (const first of ["stream", "answer"]) {
      const { log, rows } = opened();
      log.apply({ event: "message", data: message(3, "assistant", said("earlier")) });
      log.apply({ event: "status", data: status("idle") });
      log.addSending(sending);
      expect(rows().map((row) => row.key)).toEqual(["m3", "m4"]);
      const landed = { chat_id: "c", version: 9, seq: 4, queued_id: null, repeated: false };
      if (first === "answer") log.landed("k", landed);
      expect(rows().length).toBe(2);
      log.apply({ event: "message", data: message(4, "user", said("hi")) });
      if (first === "stream") log.landed("k", landed);
      expect(rows().map((row) => [row.key, row.kind])).toEqual([
        ["m3", "step"],
        ["m4", "user"],
      ]);
      expect(log.snapshot().sending).toEqual([]);
    }
  });

  it("is not taken for an older message that says the same", () => {
    const { log, rows } = opened();
    log.addSending(sending);
    log.apply({ event: "history_reset", data: { from: 1, older: null } });
    log.apply({ event: "message", data: message(1, "user", said("hi")) });
    expect(log.snapshot().sending.length + rows().length).toBeGreaterThan(1);
    expect(rows().at(-1)?.kind).toBe("sending");
  });

  it("is no longer on its way once it waits in the queue", () => {
    const { log, rows } = opened();
    log.addSending(sending);
    const queued = { queued_id: 1, urgent: false, parts: said("hi"), model: null, effort: null };
    log.apply({ event: "queue", data: { messages: [{ ...queued, author_id: null }] } });
    rows();
    expect(log.snapshot().sending).toEqual([]);
  });
});

describe("older messages", () => {
  it("come before, and not if the history has changed since they were asked for", () => {
    const { log, rows } = opened();
    log.apply({ event: "history_reset", data: { from: 1, older: 5 } });
    log.apply({ event: "message", data: message(5, "user", said("five")) });
    log.prepend(5, [message(4, "user", said("four"))], 4);
    expect(rows().map((row) => row.key)).toEqual(["m4", "m5"]);
    log.prepend(5, [message(3, "user", said("three"))], null);
    expect(rows().length).toBe(2);
  });
});
