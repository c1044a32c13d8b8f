import { describe, expect, it } from "vitest";
import { meterOf } from "./meter";
import type { Message } from "./types";

let seq = 0;
function message(role: Message["role"], more: Partial<Message> = {}): Message {
  seq += 1;
  return { role, seq, parts: [], usage: null, cost_micros: null, model: null, ...more } as Message;
}

const reply = (input: number, output: number, more: Partial<Message> = {}) =>
  message("assistant", { usage: { input, output }, ...more });

describe("the context meter", () => {
  it("shows what the next reply will read again, of the model that spoke last", () => {
    const windows: Record<string, number> = { small: 1_000, large: 100_000 };
    const history = [
      message("user"),
      reply(100, 10, { model: "large", cost_micros: 5 }),
      message("user"),
      reply(600, 20, {
        model: "small",
        cost_micros: 7,
        usage: { input: 600, cache_read: 90, output: 20 },
      }),
      message("tool"),
    ];
    expect(meterOf(history, (model) => windows[model ?? ""] ?? null)).toEqual({
      used: 620,
      window: 1_000,
      share: 0.62,
      input: 600,
      cached: 90,
      output: 20,
      costMicros: 12,
      model: "small",
    });
  });

  it("is empty before the first reply and after a summary", () => {
    expect(meterOf([message("user")], () => 1_000)).toBeNull();
    const summed = [message("user"), reply(900, 50), message("boundary")];
    expect(meterOf(summed, () => 1_000)).toBeNull();
  });

  it("gives a number and no share where the context window is unknown", () => {
    expect(meterOf([reply(900, 50)], () => null)).toMatchObject({ used: 950, share: null });
  });

  it("is never more than full", () => {
    expect(meterOf([reply(5_000, 1)], () => 1_000)?.share).toBe(1);
  });
});
