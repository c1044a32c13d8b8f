import { afterEach, describe, expect, it, vi } from "vitest";
import { told } from "@/testing/events";
import { ChatLog } from "./chat-store";
import { commandsOf } from "./commands";

/** A chat whose third message began the turn that is shown, and a server that answers so. */
function chatAt(turnSeq: number, status: number, answer: object) {
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    const headers = { "content-type": "application/json" };
    return new Response(JSON.stringify(answer), { status, headers });
  });
  const log = new ChatLog("c", (act) => act());
  const now = { status: "running", archived: false, attempt: 1, model: null, effort: null };
  log.apply(told("chat.state", { ...now, turn_seq: turnSeq }));
  return { actions: commandsOf(log), bodies };
}

afterEach(() => vi.unstubAllGlobals());

describe("Stop", () => {
  it("names the turn that is shown", async () => {
    const { actions, bodies } = chatAt(3, 202, {});
    await actions.interrupt();
    expect(bodies).toEqual([{ turn_seq: 3 }]);
  });

  it("is done if that turn has ended meanwhile", async () => {
    const { actions, bodies } = chatAt(3, 409, { code: "turn_changed", detail: "over" });
    await actions.interrupt();
    expect(bodies.length).toBe(1);
  });

  it("says why it was refused otherwise", async () => {
    const { actions } = chatAt(3, 409, {
      code: "chat_state_conflict",
      detail: "The chat is archived.",
    });
    await expect(actions.interrupt()).rejects.toThrow("The chat is archived.");
  });
});
