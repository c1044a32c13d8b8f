import { ApiError, NetworkError, type Receipt } from "@holdfast/client";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Outbox, type Unsent, type UnsentState } from "./outbox";
import type { OutboxStorage } from "./outbox-storage";

/** What a browser keeps while pages come and go. */
class Kept implements OutboxStorage {
  readonly messages = new Map<string, Unsent>();
  all = async () => [...this.messages.values()];
  put = async (message: Unsent) => void this.messages.set(message.clientKey, message);
  delete = async (clientKey: string) => void this.messages.delete(clientKey);
  clear = async () => this.messages.clear();
}

/** A server that takes a message once per key; `fate` of a request: it or its answer may be lost. */
class Server {
  readonly texts: string[] = [];
  readonly keys = new Set<string>();
  fate: () => "answered" | "lost" | "answer lost" | "refused" | "expired" = () => "answered";

  post = async ({ clientKey, text }: Unsent): Promise<Receipt> => {
    const fate = this.fate();
    await Promise.resolve();
    if (fate === "lost") throw new NetworkError(null);
    if (fate === "refused") throw new ApiError(409, "queue_full", "The queue is full.");
    if (fate === "expired") throw new ApiError(401, "unauthenticated", "Sign in.");
    if (!this.keys.has(clientKey)) this.texts.push(text);
    this.keys.add(clientKey);
    if (fate === "answer lost") throw new NetworkError(null);
    return { chat_id: "c", version: 2, turn_seq: 1, message_seq: 1, queued_id: null };
  };
}

function opened(kept: Kept, server: Server) {
  const box = new Outbox(kept, server.post);
  const states: [string, UnsentState | "landed" | "gone"][] = [];
  void box.start("ada");
  box.attach("c", {
    changed: ({ text }, state) => void states.push([text, state]),
    landed: ({ text }) => void states.push([text, "landed"]),
    gone: (clientKey) => void states.push([clientKey, "gone"]),
  });
  return { box, states, last: () => states.at(-1)?.[1] };
}

const say = (text: string) => ({ text, model: null });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("a message is shown before anything else happens, kept, and forgotten once it has landed", async () => {
  const kept = new Kept();
  const { box, states } = opened(kept, new Server());
  box.add("c", say("hello"), "queue");
  expect(states).toEqual([["hello", "sending"]]);
  expect([...kept.messages.values()].map(({ text }) => text)).toEqual(["hello"]);
  await vi.advanceTimersByTimeAsync(10);
  expect(states.at(-1)).toEqual(["hello", "landed"]);
  expect(kept.messages.size).toBe(0);
});

it("messages reach the server in the order in which they were sent", async () => {
  const server = new Server();
  const fates = ["lost", "lost"] as const;
  let at = 0;
  server.fate = () => fates[at++] ?? "answered";
  const { box } = opened(new Kept(), server);
  box.add("c", say("first"), "queue");
  box.add("c", say("second"), "queue");
  await vi.advanceTimersByTimeAsync(5000);
  expect(server.texts).toEqual(["first", "second"]);
});

it("what the server did not answer is sent by itself, at once when the network is back", async () => {
  const server = new Server();
  let isAway = true;
  server.fate = () => (isAway ? "lost" : "answered");
  const { box, last } = opened(new Kept(), server);
  box.add("c", say("hello"), "queue");
  await vi.advanceTimersByTimeAsync(60_000);
  expect([last(), server.texts]).toEqual(["waiting", []]);
  isAway = false;
  box.wakeAll();
  await vi.advanceTimersByTimeAsync(1);
  expect([last(), server.texts]).toEqual(["landed", ["hello"]]);
});

it("the next page sends what an earlier one could not", async () => {
  const kept = new Kept();
  const server = new Server();
  server.fate = () => "lost";
  const first = opened(kept, server);
  first.box.add("c", say("hello"), "queue");
  first.box.stop();
  server.fate = () => "answered";
  const { states } = opened(kept, server);
  await vi.advanceTimersByTimeAsync(10);
  expect(states).toEqual([
    ["hello", "sending"],
    ["hello", "landed"],
  ]);
  expect(server.texts).toEqual(["hello"]);
});

it("a refused message is not repeated, also not by the next page, until its user says so", async () => {
  const kept = new Kept();
  const server = new Server();
  server.fate = () => "refused";
  opened(kept, server).box.add("c", say("hello"), "queue");
  await vi.advanceTimersByTimeAsync(10);
  server.fate = () => "answered";
  const { box, last } = opened(kept, server);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([last(), server.texts]).toEqual(["failed", []]);
  box.resend([...kept.messages.keys()][0] ?? "");
  await vi.advanceTimersByTimeAsync(10);
  expect([last(), server.texts]).toEqual(["landed", ["hello"]]);
});

it("an expired session refuses nothing: the message waits for its user", async () => {
  const kept = new Kept();
  const server = new Server();
  server.fate = () => "expired";
  const { box } = opened(kept, server);
  box.add("c", say("hello"), "queue");
  await vi.advanceTimersByTimeAsync(10);
  box.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kept.messages.size).toBe(1);
});

describe("nothing of a user is left", () => {
  it("after they have signed out", () => {
    const kept = new Kept();
    const server = new Server();
    server.fate = () => "lost";
    const { box } = opened(kept, server);
    box.add("c", say("secret"), "queue");
    box.forget();
    expect(kept.messages.size).toBe(0);
  });

  it("for another user of the same browser", async () => {
    const kept = new Kept();
    const server = new Server();
    server.fate = () => "lost";
    const { box } = opened(kept, server);
    box.add("c", say("secret"), "queue");
    box.stop();
    server.fate = () => "answered";
    await new Outbox(kept, server.post).start("eve");
    await vi.advanceTimersByTimeAsync(10);
    expect([kept.messages.size, server.texts]).toEqual([0, []]);
  });
});

it("a discarded message is not sent, and gives its words back", async () => {
  const server = new Server();
  server.fate = () => "lost";
  const { box, last } = opened(new Kept(), server);
  const clientKey = box.add("c", say("hello"), "queue");
  await vi.advanceTimersByTimeAsync(10);
  expect(box.discard(clientKey)?.text).toBe("hello");
  server.fate = () => "answered";
  await vi.advanceTimersByTimeAsync(60_000);
  expect([last(), server.texts]).toEqual(["gone", []]);
});

it("whatever is lost, each message arrives once, in order, through any number of pages", async () => {
  const fates = fc.array(
    fc.constantFrom("answered" as const, "lost" as const, "answer lost" as const),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(fates, fc.array(fc.nat(900), { maxLength: 4 }), async (script, reloads) => {
      const kept = new Kept();
      const server = new Server();
      let at = 0;
      server.fate = () => script[at++] ?? "answered";
      let page = opened(kept, server);
      const sent = ["one", "two", "three"];
      for (const text of sent) {
        page.box.add("c", say(text), "queue");
        await vi.advanceTimersByTimeAsync(1);
      }
      for (const after of reloads) {
        await vi.advanceTimersByTimeAsync(after);
        page.box.stop();
        page = opened(kept, server);
      }
      await vi.advanceTimersByTimeAsync(120_000);
      expect(server.texts).toEqual(sent);
      expect(kept.messages.size).toBe(0);
    }),
    { numRuns: 200 },
  );
});
