import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Draft, WhenBusy } from "@/engine/actions";
import type { ChatLog } from "@/engine/chat-store";
import { ACTIONS, queued, sending } from "@/testing/fixtures";
import { Composer, Writing } from "./composer";
import { loadDraft, offerDraft, saveDraft } from "./drafts";

type Sent = [Draft, WhenBusy][];

beforeEach(() => localStorage.clear());
afterEach(cleanup);

function shown(more: Partial<Parameters<typeof Writing>[0]> = {}) {
  const sent: Sent = [];
  const props: Parameters<typeof Writing>[0] = {
    chatId: "one",
    log: null,
    actions: ACTIONS,
    models: ["large", "small"],
    defaultModel: "large",
    refused: null,
    mode: "idle",
    onSend: (draft, whenBusy) => sent.push([draft, whenBusy]),
    ...more,
  };
  const { rerender, unmount } = render(<Writing {...props} />);
  const again = (next: Partial<typeof props>) => rerender(<Writing {...props} {...next} />);
  return { sent, again, unmount };
}

const area = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: /^Message/ });
const write = (words: string) => fireEvent.change(area(), { target: { value: words } });

describe("the composer", () => {
  it("sends with Enter and is empty then", () => {
    const { sent } = shown();
    write("hello");
    fireEvent.keyDown(area(), { key: "Enter" });
    expect(sent).toEqual([[{ text: "hello", model: null, effort: null }, "queue"]]);
    expect(area().value).toBe("");
  });

  it.each([{ isComposing: true }, { keyCode: 229 }])(
    "does not send in the middle of a composition: %o",
    (press) => {
      const { sent } = shown();
      write("日本");
      fireEvent.keyDown(area(), { key: "Enter", ...press });
      expect(sent).toEqual([]);
      expect(area().value).toBe("日本");
    },
  );

  it("sends nothing when there is nothing, or when it is refused, and says why", () => {
    const { sent, again } = shown();
    fireEvent.keyDown(area(), { key: "Enter" });
    write("hello");
    again({ refused: "This chat is archived." });
    fireEvent.keyDown(area(), { key: "Enter" });
    expect(sent).toEqual([]);
    expect(screen.getByText("This chat is archived.")).toBeTruthy();
  });

  it("keeps what was begun, each chat its own", () => {
    const { again, unmount } = shown();
    write("for one");
    again({ chatId: "two" });
    expect(area().value).toBe("");
    write("for two");
    unmount();
    shown({ chatId: "one" });
    expect(area().value).toBe("for one");
  });

  it("leaves alone what was written in another tab", () => {
    const { unmount } = shown();
    saveDraft("one", { text: "from another tab", attachments: [] });
    unmount();
    expect(loadDraft("one").text).toBe("from another tab");
  });

  it("takes back a message that did not arrive, below what was begun", () => {
    shown();
    write("begun");
    offerDraft("one", "back");
    return waitFor(() => expect(area().value).toBe("begun\n\nback"));
  });

  it("folds a large paste into an attachment, and sends it after the words", () => {
    const { sent } = shown();
    write("why?");
    const long = "a line\n".repeat(100);
    fireEvent.paste(area(), { clipboardData: { getData: () => long } });
    expect(area().value).toBe("why?");
    expect(screen.getByText("Pasted text 1")).toBeTruthy();
    fireEvent.keyDown(area(), { key: "Enter" });
    expect(sent[0]?.[0].text).toContain("why?\n\nPasted text 1:\n```\na line");
  });

  it("sends the effort that was chosen, and none that the model does not know", () => {
    localStorage.setItem("holdfast.effort.c", "max");
    const { sent, again, unmount } = shown({
      chatId: "c",
      defaultModel: "m",
      efforts: { m: ["low", "max"] },
    });
    expect(screen.getByRole("button", { name: "Effort: Maximum" })).toBeTruthy();
    write("think");
    fireEvent.keyDown(area(), { key: "Enter" });
    again({ efforts: { m: ["low"] } });
    expect(screen.getByRole("button", { name: "Effort: Default effort" })).toBeTruthy();
    write("less");
    fireEvent.keyDown(area(), { key: "Enter" });
    again({ efforts: { m: [] } });
    expect(screen.queryByRole("button", { name: /^Effort/ })).toBeNull();
    expect(sent.map(([draft]) => draft.effort)).toEqual(["max", null]);
    unmount();
    localStorage.clear();
  });

  it("switches web search for models that have it, and says nothing until then", () => {
    const { sent, again } = shown({ chatId: "w", defaultModel: "m", searches: { m: true } });
    write("first");
    fireEvent.keyDown(area(), { key: "Enter" });
    const toggle = screen.getByRole("button", { name: "Web search" });
    expect(toggle.getAttribute("aria-pressed")).toBe("true");
    fireEvent.click(toggle);
    write("second");
    fireEvent.keyDown(area(), { key: "Enter" });
    again({ searches: {} });
    expect(screen.queryByRole("button", { name: "Web search" })).toBeNull();
    write("third");
    fireEvent.keyDown(area(), { key: "Enter" });
    expect(sent.map(([draft]) => draft.web)).toEqual([undefined, false, undefined]);
  });

  it("turns plan mode on or off with the next message, and says nothing of it until then", () => {
    const { sent, again } = shown({ chatId: "p" });
    const toggle = () => screen.getByRole("button", { name: "Plan mode" });
    write("first");
    fireEvent.keyDown(area(), { key: "Enter" });
    fireEvent.click(toggle());
    expect(toggle().getAttribute("aria-pressed")).toBe("true");
    write("second");
    fireEvent.keyDown(area(), { key: "Enter" });
    again({ planOfChat: true });
    again({ planOfChat: false }); // a plan was implemented
    expect(toggle().getAttribute("aria-pressed")).toBe("false");
    write("third");
    fireEvent.keyDown(area(), { key: "Enter" });
    expect(sent.map(([draft]) => draft.planMode)).toEqual([undefined, true, undefined]);
  });

  it("has both Send and Stop while the agent works", () => {
    const interrupt = vi.fn(() => Promise.resolve());
    const { sent } = shown({ mode: "busy", actions: { ...ACTIONS, interrupt } });
    write("next");
    fireEvent.click(screen.getByRole("button", { name: "Queue" }));
    expect(sent).toEqual([[{ text: "next", model: null, effort: null }, "queue"]]);
    fireEvent.click(screen.getByRole("button", { name: "Stop" }));
    expect(interrupt).toHaveBeenCalledTimes(1);
  });

  it("asks once more before Escape stops", () => {
    const interrupt = vi.fn(() => Promise.resolve());
    shown({ mode: "busy", actions: { ...ACTIONS, interrupt } });
    fireEvent.keyDown(area(), { key: "Escape" });
    expect(interrupt).not.toHaveBeenCalled();
    expect(screen.getByText("Esc again to stop")).toBeTruthy();
    fireEvent.keyDown(area(), { key: "Escape" });
    expect(interrupt).toHaveBeenCalledTimes(1);
  });

  it("asks to stop no second time while it stops", () => {
    const interrupt = vi.fn(() => Promise.resolve());
    shown({ mode: "stopping", actions: { ...ACTIONS, interrupt } });
    fireEvent.click(screen.getByRole("button", { name: "Stopping…" }));
    expect(interrupt).not.toHaveBeenCalled();
  });
});

describe("the queue", () => {
  const queue = [queued(1, "first"), queued(2, "second")];

  it("places one before another, and shows it at once", () => {
    const place = vi.fn(() => new Promise<void>(() => {}));
    shown({ mode: "busy", queue, actions: { ...ACTIONS, place } });
    fireEvent.click(screen.getByRole("button", { name: "Move up: second" }));
    expect(place).toHaveBeenCalledWith(2, 1);
    expect(
      screen.getAllByRole("listitem").map((row) => row.querySelector("[dir]")?.textContent),
    ).toEqual(["second", "first"]);
  });

  it("goes by the server's order again when it says no, and tells why", async () => {
    const place = () => Promise.reject(new Error("Somebody was faster."));
    shown({ mode: "busy", queue, actions: { ...ACTIONS, place } });
    fireEvent.keyDown(screen.getByRole("button", { name: "Move up: second" }), {
      key: "ArrowUp",
      altKey: true,
    });
    await screen.findByText("Somebody was faster.");
    expect(
      screen.getAllByRole("listitem").map((row) => row.querySelector("[dir]")?.textContent),
    ).toEqual(["first", "second"]);
  });

  it("gives a message back to be edited, below what was begun", async () => {
    const take = vi.fn(() => Promise.resolve(queued(2, "second")));
    shown({ mode: "busy", queue, actions: { ...ACTIONS, take } });
    write("begun");
    fireEvent.click(screen.getByRole("button", { name: "Edit: second" }));
    await waitFor(() => expect(area().value).toBe("begun\n\nsecond"));
    expect(take).toHaveBeenCalledWith(2);
  });

  it("keeps what was begun when somebody else took the message", async () => {
    const take = () => Promise.reject(new Error("gone"));
    shown({ mode: "busy", queue, actions: { ...ACTIONS, take } });
    write("begun");
    fireEvent.click(screen.getByRole("button", { name: "Edit: second" }));
    await screen.findByText(/no longer in the queue/);
    expect(area().value).toBe("begun");
  });
});

it("a message sent while a turn runs is in the queue before the server has it", () => {
  const now = {
    view: { state: { status: "running" }, queue: [queued(1, "first")] },
    sending: [{ ...sending("sending"), text: "second" }],
  };
  const log = { subscribe: () => () => {}, snapshot: () => now } as unknown as ChatLog;
  render(
    <Composer
      chatId="one"
      log={log}
      actions={ACTIONS}
      models={[]}
      defaultModel={null}
      refused={null}
      onSend={() => {}}
    />,
  );
  const rows = screen.getAllByRole("listitem").map((row) => row.textContent);
  expect(rows).toHaveLength(2);
  expect(rows[1]).toContain("second");
  expect(rows[1]).toContain("Sending…");
});
