import type { ChatState, Message } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import { told } from "@/testing/events";
import { result } from "@/testing/fixtures";
import { ChatLog } from "./chat-store";
import { keyOf } from "./rows";

function message(
  seq: number,
  role: Message["role"],
  parts: Message["parts"],
  clientKey: string | null = null,
): Message {
  return {
    seq,
    role,
    parts,
    finish_reason: "stop",
    model: "sim",
    effort: null,
    web: null,
    author_id: null,
    usage: null,
    cost_micro_usd: role === "assistant" ? 7 : null,
    created_at: "2026-01-01T00:00:00+00:00",
    version: seq,
    turn_seq: null,
    queued_id: null,
    attempt: role === "assistant" ? 1 : null,
    client_key: clientKey,
  };
}

const said = (text: string): Message["parts"] => [{ type: "text", citations: [], text }];
const status = (now: ChatState["status"]): ChatState => ({
  status: now,
  archived: false,
  turn_seq: 1,
  attempt: 1,
  model: "sim",
  effort: null,
  web: null,
  plan_mode: false,
  retry: null,
  error: null,
  action_required: null,
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

const part = (index: number, text: string) =>
  told("preview.delta", { attempt: 1, index, deltas: [{ type: "text", index: 0, text }] });

describe("rows", () => {
  it("keep the key of what is being said when it is committed", () => {
    const { log, rows } = opened();
    log.apply(told("message.created", message(1, "user", said("hi"))));
    log.apply(told("chat.state", status("running")));
    log.apply(part(1, "Hel"));
    const live = rows().at(-1);
    expect(live).toMatchObject({ kind: "step", message: null, key: keyOf(2) });
    log.apply(told("message.created", message(2, "assistant", said("Hello"))));
    log.apply(told("chat.state", status("idle")));
    expect(rows().at(-1)).toMatchObject({ kind: "step", key: keyOf(2), ends: { costMicros: 7 } });
  });

  it("are the same array while only deltas come", () => {
    const { log, rows } = opened();
    log.apply(told("message.created", message(1, "user", said("hi"))));
    log.apply(told("chat.state", status("running")));
    const before = rows();
    log.apply(part(1, "Hel"));
    log.apply(part(2, "lo"));
    expect(rows()).toBe(before);
    expect(log.snapshot().view.preview?.index).toBe(2);
  });

  it("have the results of their calls, and no row is made of those", () => {
    const { log, rows } = opened();
    log.apply(told("message.created", message(1, "user", said("hi"))));
    const call = {
      type: "tool_call",
      digest: null,
      call_id: "c1",
      tool_name: "clock",
      arguments: {},
      action_required: null,
      executed_by: "server",
    } as const;
    log.apply(told("message.created", message(2, "assistant", [call])));
    log.apply(told("chat.state", status("running")));
    const [user, asking] = rows();
    log.apply(told("message.created", message(3, "tool", [result("c1", "clock", "12:00")])));
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
    at: 0,
  } as const;

  it("is shown once, whether the stream or the answer comes first", () => {
    for (const first of ["stream", "answer"]) {
      const { log, rows } = opened();
      log.apply(told("message.created", message(3, "assistant", said("earlier"))));
      log.apply(told("chat.state", status("idle")));
      log.putSending(sending);
      expect(rows().map((row) => row.key)).toEqual(["m3", "m4"]);
      const landed = {
        chat_id: "c",
        version: 9,
        turn_seq: 4,
        message_seq: 4,
        queued_id: null,
      };
      if (first === "answer") log.landed("k", landed);
      expect(rows().length).toBe(2);
      log.apply(told("message.created", message(4, "user", said("hi"), "k")));
      if (first === "stream") log.landed("k", landed);
      expect(rows().map((row) => [row.key, row.kind])).toEqual([
        ["m3", "step"],
        ["m4", "user"],
      ]);
      expect(log.snapshot().sending).toEqual([]);
    }
  });

  it("is shown at once, and not with the next frame", () => {
    const frames: (() => void)[] = [];
    const log = new ChatLog("c", (draw) => {
      frames.push(draw);
    });
    log.putSending(sending);
    expect(log.snapshot().sending).toEqual([sending]);
    expect(frames).toEqual([]);
  });

  it("is not taken for a message of another client that says the same", () => {
    const { log, rows } = opened();
    log.putSending(sending);
    log.apply(told("history.reset", { from_seq: 1, older_before_seq: null, reason: "snapshot" }));
    log.apply(told("message.created", message(1, "user", said("hi"), "another")));
    expect(rows().map((row) => row.kind)).toEqual(["user", "sending"]);
    log.apply(told("message.created", message(2, "user", said("hi"), "k")));
    expect(rows().map((row) => row.kind)).toEqual(["user", "user"]);
  });

  it("is not taken for a message without a key", () => {
    const { log, rows } = opened();
    log.putSending(sending);
    log.apply(told("message.created", message(4, "user", said("hi"))));
    expect(rows().map((row) => row.kind)).toEqual(["user", "sending"]);
  });

  it("is found by its key where its words arrive changed", () => {
    const { log, rows } = opened();
    log.putSending(sending);
    log.apply(told("message.created", message(4, "user", said("hi\ufffd"), "k")));
    expect(rows().map((row) => row.kind)).toEqual(["user"]);
  });

  it("is no longer on its way once it waits in the queue", () => {
    const { log, rows } = opened();
    log.putSending(sending);
    const queued = {
      queued_id: 1,
      urgent: false,
      parts: said("hi"),
      model: null,
      effort: null,
      web: null,
    };
    const known = { author_id: null, client_key: "k" };
    log.apply(told("queue.updated", { messages: [{ ...queued, ...known }] }));
    rows();
    expect(log.snapshot().sending).toEqual([]);
  });
});

describe("older messages", () => {
  it("come before, and not if the history has changed since they were asked for", () => {
    const { log, rows } = opened();
    log.apply(told("history.reset", { from_seq: 1, older_before_seq: 5, reason: "snapshot" }));
    log.apply(told("message.created", message(5, "user", said("five"))));
    log.prepend(5, [message(4, "user", said("four"))], 4);
    expect(rows().map((row) => row.key)).toEqual(["m4", "m5"]);
    log.prepend(5, [message(3, "user", said("three"))], null);
    expect(rows().length).toBe(2);
  });
});
