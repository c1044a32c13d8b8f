import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ChatLog } from "@/engine/chat-store";
import { Composer } from "@/features/composer/composer";
import { Transcript } from "@/features/transcript/transcript";
import { told } from "@/testing/events";
import { ACTIONS, message, text } from "@/testing/fixtures";
import { focusComposer } from "./panes";
import { ChatSession, ChatSessions } from "./session";
import { ChatSessionProvider } from "./session-provider";

beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function sessionOf(chatId: string): ChatSession {
  const log = new ChatLog(chatId, (publish) => publish());
  log.apply(told("message.created", message(1, "user", [text(`words of ${chatId}`)])));
  const idle = { status: "idle", archived: false, attempt: 0, model: null, effort: null };
  log.apply(told("chat.state", { ...idle, retry: null, error: null, action_required: null }));
  return new ChatSession(log, ACTIONS);
}

function Shown({ session }: { session: ChatSession }) {
  const { log, actions } = session;
  return (
    <ChatSessionProvider session={session}>
      <section aria-label={log.chatId}>
        <Transcript models={[]} mayWrite />
        <Composer
          {...{ chatId: log.chatId, log, actions, models: [], defaultModel: null }}
          onSend={() => {}}
          refused={null}
        />
      </section>
    </ChatSessionProvider>
  );
}

/** Two chats side by side. */
function sideBySide() {
  const left = sessionOf("left");
  const right = sessionOf("right");
  const { rerender } = render(
    <>
      <Shown key="left" session={left} />
      <Shown key="right" session={right} />
    </>,
  );
  const close = () => rerender(<Shown key="right" session={right} />);
  return { left, right, close };
}

const inPane = (name: string) => within(screen.getByRole("region", { name }));
const composer = (name: string) =>
  inPane(name).getByRole<HTMLTextAreaElement>("textbox", { name: /^Message/ });
const findField = (name: string) => inPane(name).queryByRole<HTMLInputElement>("searchbox");
const pressFind = () => fireEvent.keyDown(document.body, { key: "f", ctrlKey: true });

describe("two panes", () => {
  it("have each its own find bar, which the keyboard opens where it was used last", () => {
    sideBySide();
    act(() => composer("left").focus());
    pressFind();
    expect([findField("left") !== null, findField("right") !== null]).toEqual([true, false]);
    fireEvent.change(findField("left") as HTMLInputElement, { target: { value: "words" } });
    fireEvent.pointerDown(composer("right"));
    pressFind();
    expect([findField("left")?.value, findField("right")?.value]).toEqual(["words", ""]);
    expect(document.activeElement).toBe(findField("right"));
    fireEvent.keyDown(findField("right") as HTMLInputElement, { key: "Escape" });
    expect([findField("left")?.value, findField("right")]).toEqual(["words", null]);
  });

  it("have each its own composer, and the keyboard goes to that of the pane used last", () => {
    sideBySide();
    fireEvent.change(composer("left"), { target: { value: "for the left" } });
    expect(composer("right").value).toBe("");
    for (const name of ["left", "right", "left"]) {
      fireEvent.pointerDown(inPane(name).getByRole("log"));
      act(focusComposer);
      expect(document.activeElement).toBe(composer(name));
    }
  });

  it("keep each its own place, also when the other is closed", () => {
    const { left, right, close } = sideBySide();
    expect(left.refs.log.current).not.toBe(right.refs.log.current);
    const log = inPane("left").getByRole("log");
    Object.defineProperties(log, { scrollHeight: { value: 900 }, clientHeight: { value: 100 } });
    log.scrollTop = 300;
    fireEvent.scroll(log);
    close();
    expect([left.scroll?.offset, right.scroll]).toEqual([300, null]);
    act(focusComposer);
    expect(document.activeElement).toBe(composer("right"));
  });
});

/** A server on which the stream of one chat is cut off. */
function serverWithout(chatId: string): string[] {
  const opened: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    opened.push(url);
    if (url.includes(`/chats/${chatId}/`)) throw new TypeError("cut off");
    return new Response(new ReadableStream({ start: () => {} }));
  });
  return opened;
}

describe("sessions", () => {
  it("have each its own connection; the page says that one is cut off", async () => {
    const opened = serverWithout("left");
    const sessions = new ChatSessions();
    const [left, right] = [sessions.open("left"), sessions.open("right")];
    const stops = [left.follow(), right.follow()];
    await vi.waitFor(() => expect(left.connection.getState().now?.state).toBe("down"));
    await vi.waitFor(() => expect(right.connection.getState().now?.state).toBe("live"));
    expect(sessions.connection.getState().now?.state).toBe("down");
    const tries = opened.filter((url) => url.includes("/left/")).length;
    sessions.retryNow();
    await vi.waitFor(() =>
      expect(opened.filter((url) => url.includes("/left/")).length).toBeGreaterThan(tries),
    );
    stops[0]?.();
    expect(sessions.connection.getState().now).toBeNull();
    expect(right.connection.getState().now?.state).toBe("live");
    stops[1]?.();
  });

  it("of one chat are two in two panes, and the same again when one comes back", () => {
    serverWithout("none");
    const sessions = new ChatSessions();
    const first = sessions.open("chat");
    const stop = first.follow();
    expect(sessions.open("chat")).not.toBe(first);
    stop();
    const other = new ChatSessions();
    const known = other.open("chat");
    other.open("another");
    expect(other.open("chat")).toBe(known);
  });

  it("are dropped after five others, except with unsent messages or in a pane", () => {
    serverWithout("none");
    const sessions = new ChatSessions();
    const [idle, unsent, shown] = ["idle", "unsent", "shown"].map((id) => sessions.open(id));
    const entry = { clientKey: "k", text: "hello", model: null, why: null, at: 0 };
    unsent?.log.putSending({ ...entry, state: "failed" });
    const stop = shown?.follow();
    const place = {
      offset: 5,
      follow: { mode: "reading", fresh: 0, top: 5, distance: 9 },
    } as const;
    if (idle !== undefined) idle.scroll = { ...place, sizes: [] };
    for (let n = 0; n < 8; n++) sessions.open(`chat ${n}`);
    stop?.();
    expect(sessions.open("unsent")).toBe(unsent);
    expect(sessions.open("shown")).toBe(shown);
    const again = sessions.open("idle");
    expect(again).not.toBe(idle);
    expect(again.scroll).toEqual({ ...place, sizes: [] });
  });
});
