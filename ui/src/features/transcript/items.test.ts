import { type ChatState, EMPTY, type Message } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import type { LiveShape } from "@/engine/live-parts";
import { type Row, Rows } from "@/engine/rows";
import { message, result, sending, text } from "@/testing/fixtures";
import {
  type Folding,
  freezeFolds,
  type Item,
  itemsOf,
  settled,
  type TranscriptInput,
} from "./items";
import { versionsBySeq } from "./versions";

const SHUT: Folding = { open: new Set(), frozen: null };

function status(now: ChatState["status"], attempt = 1): ChatState {
  const nothing = { retry: null, error: null, action_required: null };
  return {
    status: now,
    archived: false,
    turn_seq: null,
    attempt,
    model: "m",
    effort: null,
    web: null,
    plan_mode: false,
    ...nothing,
  };
}

function toolCall(callId: string, tool = "execute") {
  return {
    type: "tool_call",
    digest: null,
    call_id: callId,
    tool_name: tool,
    arguments: {},
    action_required: null,
    executed_by: "server",
  } as const;
}

function step(seq: number, ...ids: string[]): Message[] {
  return [
    message(
      seq,
      "assistant",
      ids.map((id) => toolCall(id)),
    ),
    message(
      seq + 1,
      "tool",
      ids.map((id) => result(id, "execute", "ok")),
    ),
  ];
}

function facts(
  messages: Message[],
  now: ChatState["status"],
  more: Partial<TranscriptInput> = {},
): TranscriptInput {
  const view = { ...EMPTY, messages, state: status(now) };
  const rows: Row[] = new Rows().of(view, []);
  return {
    rows,
    older: null,
    live: [],
    status: view.state,
    retry: null,
    error: null,
    action: null,
    ...more,
  };
}

const kinds = (items: readonly Item[]) => items.map((item) => item.kind).join(" ");
const ask = message(1, "user", [text("go")]);
const say = (seq: number, words = "done") => message(seq, "assistant", [text(words)]);

describe("a turn", () => {
  it("is what was asked, what was said, and a foot", () => {
    const items = itemsOf(facts([ask, say(2)], "idle"), SHUT);
    expect(kinds(items)).toBe("user text foot");
    expect(items.at(-1)).toMatchObject({ foot: { is: "over", answer: "done" } });
  });

  it("has calls with the exact text of their arguments, where the server sent one", () => {
    const pay = { ...toolCall("c1", "pay"), exact_arguments: { account: "9007199254740993" } };
    const exact = (part: Message["parts"][number]) =>
      itemsOf(facts([ask, message(2, "assistant", [part])], "running"), SHUT).flatMap((item) =>
        item.kind === "tool" ? [item.call.exact] : [],
      );
    expect(exact(pay)).toEqual([{ account: "9007199254740993" }]);
    expect(exact(toolCall("c1", "pay"))).toEqual([{}]);
  });

  it("says above what is continued that a worker was lost", () => {
    const takeover = { attempt: 2, lost_workers: 1, after_seconds: 8, kept: true, calls: [] };
    const shown = (...messages: Message[]) => itemsOf(facts([ask, ...messages], "idle"), SHUT);
    const cut = message(2, "assistant", [text("so far")], {
      finish_reason: "provider_error",
      takeover,
    });
    const kept = shown(cut, say(3, "and on"));
    expect(kinds(kept)).toBe("user text lost text foot");
    expect(kept[2]).toMatchObject({ key: "m2.lost.0", takeover });

    const anew = message(2, "assistant", [text("anew")], {
      takeover: { ...takeover, kept: false },
    });
    expect(kinds(shown(anew))).toBe("user lost text foot");

    const [asks, answers] = step(2, "a") as [Message, Message];
    expect(kinds(shown(asks, { ...answers, takeover }, say(4)))).toBe("user tool lost text foot");
    expect(kinds(shown(message(2, "summary", [text("sum")], { takeover })))).toBe(
      "user lost boundary",
    );
  });

  it("can be asked again if it is the last, and if words are all that was asked", () => {
    const feet = (...messages: Message[]) =>
      itemsOf(facts(messages, "idle"), SHUT).flatMap((item) =>
        item.kind === "foot" && item.foot.is === "over" ? [item.foot.regenerable] : [],
      );
    const again = message(3, "user", [text("go "), text("on")]);
    expect(feet(ask, say(2), again, say(4))).toEqual([
      null,
      { seq: 3, text: "go on", model: null },
    ]);
    const skill = { type: "skill", name: "x" } as unknown as Message["parts"][number];
    expect(feet(message(1, "user", [text("go"), skill]), say(2))).toEqual([null]);
  });

  it("that a plan ended was not stopped, and the plan stands outside of folded steps", () => {
    const plan = message(2, "assistant", [
      ...["a", "b", "c"].map((id) => toolCall(id)),
      toolCall("p", "propose_plan"),
    ]);
    const shown = (isError: boolean, planMode: boolean) => {
      const proposed = { ...result("p", "propose_plan", "# Plan"), is_error: isError };
      const done = ["a", "b", "c"].map((id) => result(id, "execute", "ok"));
      const given = facts([ask, plan, message(3, "tool", [...done, proposed])], "idle");
      const state = { ...status("idle"), plan_mode: planMode };
      return itemsOf({ ...given, status: state }, SHUT);
    };
    expect(kinds(shown(false, true))).toBe("user run tool foot");
    expect(shown(false, true).at(-2)).toMatchObject({ isNewest: true });
    expect(shown(false, false).at(-2)).not.toHaveProperty("isNewest");
    expect(kinds(shown(true, true))).toContain("break");
  });

  it("has the same keys while it is said as when it is there", () => {
    const live: LiveShape[] = [
      { index: 0, kind: "reasoning", callId: "", tool: "" },
      { index: 1, kind: "text", callId: "", tool: "" },
    ];
    const during = itemsOf(facts([ask], "running", { live }), SHUT);
    const said = message(2, "assistant", [
      { type: "reasoning", text: "hm", finished_at: null },
      text("done"),
    ]);
    const after = itemsOf(facts([ask, said], "idle"), SHUT);
    expect(after.map((item) => item.key)).toEqual(during.map((item) => item.key));
  });

  it("shows a result with its call, and a call without one as running", () => {
    const open = message(2, "assistant", [toolCall("a"), toolCall("b")]);
    const part = message(3, "tool", [result("a", "execute", "ok")]);
    const items = itemsOf(facts([ask, open, part], "running"), SHUT);
    expect(items.flatMap((item) => (item.kind === "tool" ? [item.call.state] : []))).toEqual([
      "done",
      "running",
    ]);
    expect(items.at(-1)).toMatchObject({
      foot: { is: "going", phase: "running", what: { id: "b" } },
    });
  });

  it.each([
    ["running", 0, [], "waiting"],
    ["running", 1, [], "thinking"],
    ["running", 1, [{ index: 0, kind: "text", callId: "", tool: "" }], "writing"],
    ["interrupting", 1, [], "stopping"],
    ["awaiting", 0, [], "awaiting"],
  ] as const)("%s at attempt %i with %o is %s", (now, attempt, live, phase) => {
    const given = { ...facts([ask], now, { live: [...live] }), status: status(now, attempt) };
    expect(itemsOf(given, SHUT).at(-1)).toMatchObject({ foot: { is: "going", phase } });
  });

  it("ends in what went wrong, or in the time until it is tried again", () => {
    const error = {
      type: "overloaded",
      message: "Busy.",
      provider: null,
      status_code: null,
      retryable: true,
    } as const;
    const retry = {
      attempt: 1,
      delay_ms: 1,
      next_attempt_at: "2026-01-01T00:00:00Z",
      model: null,
      error,
    };
    expect(itemsOf(facts([ask], "failed", { error }), SHUT).at(-1)).toMatchObject({
      foot: { is: "failed" },
    });
    expect(itemsOf(facts([ask], "running", { retry }), SHUT).at(-1)).toMatchObject({
      foot: { is: "retrying" },
    });
  });

  it("shows where it was stopped, also when nothing had been said", () => {
    const cut = message(2, "assistant", [text("As I was s")], { finish_reason: "interrupted" });
    expect(kinds(itemsOf(facts([ask, cut], "idle"), SHUT))).toBe("user text break foot");
    expect(kinds(itemsOf(facts([ask], "idle"), SHUT))).toBe("user break");
  });

  it("shows that it was stopped before the reply to the results had a word", () => {
    expect(kinds(itemsOf(facts([ask, ...step(2, "a")], "idle"), SHUT))).toContain("break");
    expect(kinds(itemsOf(facts([ask, ...step(2, "a"), say(4)], "idle"), SHUT))).not.toContain(
      "break",
    );
  });

  it("shows what is on its way after it", () => {
    const view = { ...EMPTY, messages: [ask, say(2)], state: status("idle") };
    const rows = new Rows().of(view, [sending("sending")]);
    expect(kinds(itemsOf({ ...facts([], "idle"), rows }, SHUT))).toBe("user text foot sending");
  });

  it("begins with what is earlier", () => {
    expect(kinds(itemsOf(facts([ask], "running", { older: 1 }), SHUT))).toBe("older user foot");
  });
});

describe("a run of steps", () => {
  const five = [
    ...step(2, "a"),
    ...step(4, "b"),
    ...step(6, "c"),
    ...step(8, "d"),
    ...step(10, "e"),
  ];

  it("folds whole when the turn is over", () => {
    const items = itemsOf(facts([ask, ...five, say(12)], "idle"), SHUT);
    expect(kinds(items)).toBe("user run text foot");
    expect(items[1]).toMatchObject({ hidden: 5 });
  });

  it("shows its last three while the turn goes on", () => {
    expect(kinds(itemsOf(facts([ask, ...five], "running"), SHUT))).toBe(
      "user run tool tool tool foot",
    );
  });

  it("is not folded when there is little of it", () => {
    const two = facts([ask, ...five.slice(0, 4), say(12)], "idle");
    expect(kinds(itemsOf(two, SHUT))).toBe("user tool tool text foot");
  });

  it("shows all of itself when it is open", () => {
    const open = new Set(["run.m2.0"]);
    const items = itemsOf(facts([ask, ...five, say(12)], "idle"), { open, frozen: null });
    expect(kinds(items)).toBe("user run tool tool tool tool tool text foot");
  });

  it("never hides what waits or runs", () => {
    const many = message(
      2,
      "assistant",
      ["a", "b", "c", "d", "e"].map((id) => toolCall(id)),
    );
    expect(kinds(itemsOf(facts([ask, many], "running"), SHUT))).toBe(
      "user tool tool tool tool tool foot",
    );
  });

  it("folds no further while somebody reads", () => {
    const during = itemsOf(facts([ask, ...five], "running"), SHUT);
    const frozen = freezeFolds(during);
    const after = itemsOf(facts([ask, ...five, say(12)], "idle"), { open: new Set(), frozen });
    expect(kinds(after)).toBe("user run tool tool tool text foot");
    expect(kinds(itemsOf(facts([ask, ...five, say(12)], "idle"), SHUT))).toBe("user run text foot");
  });

  it("of an older page is folded also while somebody reads", () => {
    const later = message(20, "user", [text("and?")]);
    const frozen = freezeFolds(itemsOf(facts([later], "running"), SHUT));
    const items = itemsOf(facts([ask, ...five, say(12), later], "running"), {
      open: new Set(),
      frozen,
    });
    expect(kinds(items)).toBe("user run text foot user foot");
  });
});

describe("items that say the same", () => {
  it("are the same objects, so that nothing is drawn again", () => {
    const messages = [ask, ...step(2, "a"), say(4)];
    const before = itemsOf(facts(messages, "idle"), SHUT);
    expect(settled(before, itemsOf(facts(messages, "idle"), SHUT))).toBe(before);
    const more = settled(
      before,
      itemsOf(facts([...messages, message(5, "user", [text("b")])], "running"), SHUT),
    );
    expect(more.slice(0, 3)).toEqual(before.slice(0, 3));
    expect(more[0]).toBe(before[0]);
    expect(more[1]).toBe(before[1]);
  });
});

describe("older versions", () => {
  it("belong to the message that took their place", () => {
    const versions = versionsBySeq(
      [
        { version: 3, first_seq: 2, messages: 2 },
        { version: 9, first_seq: 3, messages: 4 },
        { version: 5, first_seq: 90, messages: 1 },
      ],
      [1, 7, 8],
    );
    expect([...versions.keys()]).toEqual([7]);
    expect(versions.get(7)?.map((path) => path.version)).toEqual([9, 3]);
  });
});
