import { afterEach, describe, expect, it, vi } from "vitest";
import { type Answer, ask, MessageRemovedError, waitForTurn } from "./ask.js";
import { createClient } from "./client.js";
import { ApiError } from "./errors.js";
import type { Receipt, WireEvent } from "./types.js";

const client = createClient({ baseUrl: "http://server/", apiKey: "k" });

function event(type: string, version: number, final: boolean, data: unknown): WireEvent {
  return { type, cursor: "opaque", version, final, data };
}

function message(seq: number, role: string, turnSeq: number, text: string, queuedId?: number) {
  const data = { seq, role, turn_seq: turnSeq, queued_id: queuedId ?? null };
  return event("message.created", seq, false, { ...data, parts: [{ type: "text", text }] });
}

function state(version: number, status: string, turnSeq: number, more: object = {}) {
  const data = { status, turn_seq: turnSeq, error: null, action_required: null, ...more };
  return event("chat.state", version, true, data);
}

const queued = (version: number, ...ids: number[]) =>
  event("queue.updated", version, true, { messages: ids.map((id) => ({ queued_id: id })) });

/** A server that accepts a message with this receipt and then tells these events. */
function server(receipt: Partial<Receipt>, events: WireEvent[], refusal?: number) {
  const requests: Request[] = [];
  const answer = { chat_id: "c", version: 1, turn_seq: null, message_seq: null, queued_id: null };
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = new Request(input, init);
    requests.push(request);
    if (request.method === "POST") return Response.json({ ...answer, ...receipt }, { status: 202 });
    if (refusal !== undefined) return new Response("", { status: refusal });
    const text = events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
    return new Response(text);
  });
  return { requests, receipt: { ...answer, ...receipt } };
}

afterEach(() => vi.unstubAllGlobals());

describe("the answer to a message", () => {
  it("is that of its own turn, although another turn follows", async () => {
    const { requests } = server({ message_seq: 3, version: 3 }, [
      message(1, "user", 1, "before"),
      message(2, "assistant", 1, "old answer"),
      message(3, "user", 3, "mine"),
      state(3, "running", 3),
      message(4, "assistant", 3, "my answer"),
      message(5, "user", 5, "after"),
      state(5, "running", 5),
    ]);
    const answer = await ask(client, "c", "mine");
    expect(answer).toMatchObject({ turnSeq: 3, text: "my answer", status: "done", error: null });
    expect(answer.messages.map(({ seq }) => seq)).toEqual([4]);
    const [sent, stream] = requests;
    expect(sent?.url).toBe("http://server/api/v1/chats/c/messages");
    expect(await sent?.json()).toEqual({ text: "mine", when_busy: "queue" });
    expect(sent?.headers.get("idempotency-key")).toMatch(/^[\w-]{32,}$/);
    expect(stream?.headers.get("authorization")).toBe("Bearer k");
  });

  it("is found by the number that the message had in the queue", async () => {
    server({ queued_id: 7, version: 2 }, [
      message(1, "user", 1, "another"),
      { ...state(2, "running", 1), final: false },
      queued(2, 6, 7),
      message(3, "assistant", 1, "not mine"),
      message(4, "user", 4, "mine", 7),
      { ...state(4, "running", 4), final: false },
      queued(4),
      message(5, "assistant", 4, "mine"),
      state(5, "idle", 4),
    ]);
    expect(await ask(client, "c", "mine")).toMatchObject({ turnSeq: 4, text: "mine" });
  });

  it("does not come from a replica that is behind, nor from the middle of a commit", async () => {
    server({ message_seq: 3, version: 9 }, [
      state(8, "idle", 1), // before the message
      { ...state(9, "idle", 1), final: false },
      message(3, "user", 3, "mine"),
      state(9, "running", 3),
      message(4, "assistant", 3, "done"),
      state(10, "idle", 3),
    ]);
    expect((await ask(client, "c", "mine")).text).toBe("done");
  });

  it.each<[Answer["status"], object]>([
    ["failed", { error: { type: "auth", message: "No." } }],
    ["awaiting", { action_required: { type: "approval", calls: [], expires_at: null } }],
  ])("says that the turn is %s, and why", async (status, why) => {
    server({ message_seq: 1 }, [message(1, "user", 1, "mine"), state(1, status, 1, why)]);
    const { error, actionRequired, ...answer } = await ask(client, null, "mine");
    expect(answer).toMatchObject({ status, text: "" });
    expect([error, actionRequired].filter((each) => each !== null)).toEqual(Object.values(why));
  });

  it("does not come if the message is removed from the queue", async () => {
    const { receipt } = server({ queued_id: 7, version: 2 }, [queued(2, 7), queued(3)]);
    await expect(waitForTurn(client, receipt)).rejects.toThrow(MessageRemovedError);
  });

  it("does not come from a chat that may not be read", async () => {
    const { receipt } = server({ message_seq: 1 }, [], 404);
    const error = await waitForTurn(client, receipt).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).status).toBe(404);
  });

  it("is not waited for any longer after an abort", async () => {
    const { receipt } = server({ message_seq: 1 }, [state(1, "running", 1)]);
    const leaving = new AbortController();
    const waiting = waitForTurn(client, receipt, { signal: leaving.signal });
    leaving.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
  });
});
