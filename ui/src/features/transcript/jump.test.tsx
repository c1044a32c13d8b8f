import type { Message, MessagePart } from "@holdfast/client";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChatLog } from "@/engine/chat-store";
import { validateChatSearch } from "@/features/chat/search";
import { ChatSession } from "@/features/chat/session";
import { ChatSessionProvider } from "@/features/chat/session-provider";
import { told } from "@/testing/events";
import { ACTIONS, message, result, text } from "@/testing/fixtures";
import { Toasts } from "@/ui/toast";
import { itemsOf, stateInput } from "./items";
import { jumpTo } from "./jump";
import { Transcript } from "./transcript";

const user = (seq: number) => message(seq, "user", [text(`question ${seq}`)]);
const reply = (seq: number, ...parts: MessagePart[]) => message(seq, "assistant", parts);
const call = (id: string): MessagePart => ({
  type: "tool_call",
  digest: null,
  call_id: id,
  tool_name: "execute",
  arguments: {},
  action_required: null,
  executed_by: "server",
});
const results = (seq: number, ...ids: string[]) =>
  message(
    seq,
    "tool",
    ids.map((id) => result(id, "execute", "done")),
  );

const IDLE = { status: "idle", archived: false, attempt: 0, model: null, effort: null };
const STATE = { ...IDLE, retry: null, error: null, action_required: null };

function logOf(messages: readonly Message[], older: number | null = null): ChatLog {
  const log = new ChatLog("chat", (publish) => publish());
  log.apply(told("history.reset", { from_seq: 1, older_before_seq: older }));
  for (const each of messages) log.apply(told("message.created", each));
  log.apply(told("chat.state", STATE));
  return log;
}

/** Where a jump leads: `key`, `key < run that is opened`, or what is to be done. */
function jump(seq: number, messages: readonly Message[], older: number | null = null): string {
  const { rows, view } = logOf(messages).snapshot();
  const input = { rows, older, live: [], ...stateInput(view.state) };
  const items = itemsOf(input, { open: { has: () => true }, frozen: null });
  const found = jumpTo(seq, { messages, rows, items, older });
  return found.is === "found" ? [found.match.key, ...found.match.opens].join(" < ") : found.is;
}

describe("a jump to a message", () => {
  const steps = [reply(5, call("a"), call("b"), call("c")), results(6, "a"), results(7, "b", "c")];
  const chat = [user(4), ...steps, reply(8, text("answer")), user(11), reply(12, text("more"))];

  it("leads to the item of a question, and to the first of a reply", () => {
    expect(jump(4, chat)).toBe("m4");
    expect(jump(8, chat)).toBe("m8.0");
  });

  it("opens the run that hides a call", () => {
    expect(jump(5, chat)).toBe("m5.0 < run.m5.0");
  });

  it("leads from a result to its call", () => {
    expect(jump(6, chat)).toBe("m5.0 < run.m5.0");
    expect(jump(7, chat)).toBe("m5.1 < run.m5.0");
  });

  it("leads to the turn of a reply that shows nothing", () => {
    expect(jump(2, [user(1), reply(2)])).toBe("m1");
  });

  it("asks for older pages only if the message can be in one", () => {
    expect(jump(2, chat, 4)).toBe("older");
    expect(jump(2, chat)).toBe("missing");
    expect(jump(9, chat, 4)).toBe("missing"); // between two messages: an edit removed it
    expect(jump(13, chat, 4)).toBe("newer");
    expect(jump(1, [])).toBe("newer");
  });
});

describe("the address of a message", () => {
  beforeEach(() => {
    // There is no layout here, and a list without a height draws no rows.
    vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(800);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    pass(10_000); // toasts are of the whole page, and go by themselves
    cleanup();
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  function open(log: ChatLog, seq: number | undefined, loadOlder = ACTIONS.loadOlder) {
    const session = new ChatSession(log, { ...ACTIONS, loadOlder });
    const page = (now: number | undefined) => (
      <ChatSessionProvider session={session}>
        <Transcript models={[]} mayWrite seq={now} />
        <Toasts />
      </ChatSessionProvider>
    );
    const { rerender } = render(page(seq));
    return { goTo: (now: number | undefined) => rerender(page(now)) };
  }

  const marked = () => document.querySelector<HTMLElement>("[data-marked]")?.dataset.key ?? null;
  function pass(ms: number): void {
    act(() => vi.advanceTimersByTime(ms));
  }
  const MISSING = "The message of this link is not in the chat.";

  it("marks the message for a moment", () => {
    open(logOf([user(1), reply(2, text("answer"))]), 2);
    expect(marked()).toBe("m2.0");
    pass(2500);
    expect(marked()).toBeNull();
  });

  it("waits for a chat that is still opening", () => {
    const log = new ChatLog("chat", (publish) => publish());
    open(log, 1);
    act(() => log.apply(told("message.created", user(1))));
    expect(marked()).toBeNull();
    act(() => log.apply(told("chat.state", STATE)));
    expect(marked()).toBe("m1");
  });

  it("loads page after page until the message is there", async () => {
    const log = logOf([user(9)], 9);
    const loadOlder = vi.fn(async () => {
      await null;
      const before = log.now.older ?? 0;
      const first = before - 2;
      log.prepend(before, [user(first), user(first + 1)], first === 3 ? null : first);
    });
    open(log, 4, loadOlder);
    expect(marked()).toBeNull();
    for (let page = 0; page < 3; page++) await act(async () => {});
    expect(marked()).toBe("m4");
    expect(loadOlder).toHaveBeenCalledTimes(3);
  });

  it("says that a page could not be loaded, and asks for no other", async () => {
    const loadOlder = vi.fn(() => Promise.reject(new Error("no connection")));
    open(logOf([user(9)], 9), 4, loadOlder);
    await act(async () => {});
    expect(screen.getByText(/^The message of this link could not be loaded/)).toBeDefined();
    expect(loadOlder).toHaveBeenCalledTimes(1);
  });

  it("says that the message does not exist", () => {
    open(logOf([user(1), user(5)]), 3);
    expect(screen.getByText(MISSING)).toBeDefined();
  });

  it("waits a moment for a message that is newer than all others", () => {
    const log = logOf([user(1)]);
    open(log, 2);
    pass(2000);
    expect(screen.queryByText(MISSING)).toBeNull();
    act(() => log.apply(told("message.created", reply(2, text("answer")))));
    expect(marked()).toBe("m2.0");
    pass(5000);
    expect(screen.queryByText(MISSING)).toBeNull();
  });

  it("works again after another one, and after none", () => {
    const { goTo } = open(logOf([user(1), user(2)]), 1);
    expect(marked()).toBe("m1");
    goTo(2);
    expect(marked()).toBe("m2");
    pass(2500);
    goTo(undefined);
    expect(marked()).toBeNull();
    goTo(2);
    expect(marked()).toBe("m2");
  });
});

it.each([
  [12, 12],
  [0, undefined],
  [-1, undefined],
  [1.5, undefined],
  ["12", undefined],
  [undefined, undefined],
])("of the address ?m=%s, %s is kept", (m, kept) => {
  expect(validateChatSearch({ m, other: "x" })).toEqual({ m: kept });
});
