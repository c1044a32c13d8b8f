import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { told } from "@/testing/events";
import {
  type Connection,
  counters,
  Ended,
  type Followed,
  Malformed,
  type Open,
  openFetch,
  Refused,
  receiverOf,
  SILENCE_MS,
  Stream,
} from "./stream.js";

/** A connection whose end is in our hands. */
function line() {
  const opened: { cursor: string | null; end: (error?: unknown) => void; heard: () => void }[] = [];
  const open: Open = (followed, signal, heard) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      opened.push({
        cursor: followed.cursor(),
        heard,
        end: (error) => (error === undefined ? resolve() : reject(error)),
      });
    });
  return { open, opened };
}

let cursor: string | null;
let states: Connection[];
let refused: number[];
const followed: Followed = {
  url: "/events",
  cursor: () => cursor,
  beginAnew: () => {
    cursor = null;
  },
  onEvent: () => {},
  onState: (state) => void states.push(state),
  onRefused: (status) => void refused.push(status),
};

beforeEach(() => {
  vi.useFakeTimers();
  cursor = null;
  states = [];
  refused = [];
});
afterEach(() => vi.useRealTimers());

describe("a stream", () => {
  it("goes on after the last event, whatever cut it", async () => {
    const { open, opened } = line();
    const stream = new Stream(followed, open);
    stream.start();
    opened[0]?.heard();
    cursor = "7.1.3";
    opened[0]?.end(new Error("cut"));
    await vi.advanceTimersByTimeAsync(300);
    expect(opened.map((each) => each.cursor)).toEqual([null, "7.1.3"]);
    expect(states.map((each) => each.state)).toEqual(["live", "down"]);
    opened[1]?.heard();
    expect(states.at(-1)).toEqual({ state: "live" });
    stream.stop();
  });

  it("is given up after a silence of more than two heartbeats, not before", async () => {
    const { open, opened } = line();
    const stream = new Stream(followed, open);
    stream.start();
    opened[0]?.heard();
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 100);
    opened[0]?.heard(); // a ping, late
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 100);
    expect(opened.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(opened.length).toBe(2);
    stream.stop();
  });

  it("that was ended for another one comes again much later, or when somebody looks", async () => {
    const { open, opened } = line();
    const stream = new Stream(followed, open);
    stream.start();
    opened[0]?.heard();
    opened[0]?.end(new Ended(60_000));
    await vi.advanceTimersByTimeAsync(59_900);
    expect(opened.length).toBe(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(opened.length).toBe(2);
    opened[1]?.end(new Ended(60_000));
    await vi.advanceTimersByTimeAsync(1_000);
    window.dispatchEvent(new Event("pageshow"));
    await vi.advanceTimersByTimeAsync(1);
    expect(opened.length).toBe(3);
    stream.stop();
  });

  it("waits longer each time, and not at all for somebody who comes back", async () => {
    const { open, opened } = line();
    const stream = new Stream(followed, open);
    stream.start();
    for (let n = 0; n < 8; n++) {
      opened.at(-1)?.end(new Error("refused"));
      await vi.advanceTimersByTimeAsync(8_000);
    }
    expect(opened.length).toBe(9);
    opened.at(-1)?.end(new Error("refused"));
    await vi.advanceTimersByTimeAsync(100);
    expect(opened.length).toBe(9);
    window.dispatchEvent(new Event("online"));
    await vi.advanceTimersByTimeAsync(1);
    expect(opened.length).toBe(10);
    stream.stop();
  });

  it("replaces a connection that was silent while the page slept", async () => {
    const { open, opened } = line();
    let now = 0;
    const stream = new Stream(followed, open, () => now);
    stream.start();
    opened[0]?.heard();
    window.dispatchEvent(new Event("pageshow"));
    await vi.advanceTimersByTimeAsync(400);
    expect(opened.length).toBe(1);
    now = 60_000; // frozen: no timer ran
    window.dispatchEvent(new Event("pageshow"));
    await vi.advanceTimersByTimeAsync(400);
    expect(opened.length).toBe(2);
    stream.stop();
  });

  it("ends where there is nothing to read, and does not ask again", async () => {
    const { open, opened } = line();
    const stream = new Stream(followed, open);
    stream.start();
    opened[0]?.end(new Refused(404));
    await vi.advanceTimersByTimeAsync(20_000);
    expect([opened.length, refused]).toEqual([1, [404]]);
  });
});

describe("a connection", () => {
  afterEach(() => vi.unstubAllGlobals());

  /** What the server is asked, and how it answers. */
  function answering(status: number, body: string): Headers[] {
    const asked: Headers[] = [];
    vi.stubGlobal("fetch", async (_url: string, { headers }: { headers: HeadersInit }) => {
      asked.push(new Headers(headers));
      return new Response(body, { status });
    });
    return asked;
  }

  const opened = () => openFetch(receiverOf(followed), new AbortController().signal, () => {});

  it("asks for what comes after the last event that was seen", async () => {
    const asked = answering(503, ""); // however it ends
    for (cursor of [null, "7.1.3"]) await opened().catch(() => {});
    expect(asked.map((each) => each.get("last-event-id"))).toEqual([null, "7.1.3"]);
  });

  it("is refused for good by those who know, and by nobody else", async () => {
    for (const [status, isFinal] of [
      [401, true],
      [404, true],
      [408, false],
      [429, false],
      [503, false],
    ] as const) {
      answering(status, "");
      const problem = await opened().catch((error: unknown) => error);
      expect([status, problem instanceof Refused]).toEqual([status, isFinal]);
    }
  });

  const closed = (reason: string, afterS: number | null) => {
    const event = told("closed", { reason, retry_after_seconds: afterS });
    return `event: closed\ndata: ${JSON.stringify(event)}\n\n`;
  };

  it("is ended for another one by an event that says for how long", async () => {
    answering(200, `retry: 60000\n${closed("too_many_streams", 60)}`);
    const ended = await opened().catch((error: unknown) => error);
    expect(ended).toEqual(new Ended(60_000));
    expect((ended as Ended).afterMs).toBe(60_000);
  });

  it("of a deleted chat is not opened again, and that of a restart is", async () => {
    answering(200, closed("deleted", null));
    expect(await opened().catch((error: unknown) => error)).toEqual(new Refused(404));
    answering(200, closed("restart", null));
    expect(await opened()).toBeUndefined();
  });
});

describe("an event that cannot be applied", () => {
  const broken = told("message.created", null, "8");
  const applied: string[] = [];
  const reader: Followed = {
    ...followed,
    onEvent: (event) => {
      if (event.data === null) throw new TypeError("no data");
      applied.push(event.type);
      cursor = event.cursor;
    },
  };

  beforeEach(() => {
    applied.length = 0;
  });

  it("costs a snapshot, in which it is left out", () => {
    const before = counters.malformed;
    const receiver = receiverOf(reader);
    receiver.onText(JSON.stringify(told("chat.state", {}, "7")));
    expect(() => receiver.onText(JSON.stringify(broken))).toThrow(Malformed);
    expect(receiver.cursor()).toBeNull();
    const partial = { ...told("history.reset", {}, "1"), final: false };
    for (const event of [partial, broken, told("queue.updated", {}, "9")]) {
      receiver.onText(JSON.stringify(event));
    }
    expect(applied).toEqual(["chat.state", "history.reset", "queue.updated"]);
    expect(cursor).toBe("9");
    expect(counters.malformed - before).toBe(2);
    expect(() => receiver.onText("{")).toThrow(Malformed);
  });
});
