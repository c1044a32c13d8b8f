import type { Message } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import { meterOf } from "./meter";

let seq = 0;
function message(role: Message["role"], more: Partial<Message> = {}): Message {
  seq += 1;
  return {
    role,
    seq,
    parts: [],
    usage: null,
    cost_micro_usd: null,
    model: null,
    ...more,
  } as Message;
}

function usage(input: number, output: number, cached: number | null = null): Message["usage"] {
  return {
    input_tokens: input,
    output_tokens: output,
    reasoning_tokens: null,
    cache_read_tokens: cached,
    cache_write_tokens: null,
  };
}

const reply = (input: number, output: number, more: Partial<Message> = {}) =>
  message("assistant", { usage: usage(input, output), ...more });

describe("the context meter", () => {
  it("shows what the next reply will read again, of the model that spoke last", () => {
    const windows: Record<string, number> = { small: 1_000, large: 100_000 };
    const history = [
      message("user"),
      reply(100, 10, { model: "large", cost_micro_usd: 5 }),
      message("user"),
      reply(600, 20, {
        model: "small",
        cost_micro_usd: 7,
        usage: usage(600, 20, 90),
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
    const summed = [message("user"), reply(900, 50), message("summary")];
    expect(meterOf(summed, () => 1_000)).toBeNull();
  });

  it("gives a number and no share where the context window is unknown", () => {
    expect(meterOf([reply(900, 50)], () => null)).toMatchObject({ used: 950, share: null });
  });

  it("is never more than full", () => {
    expect(meterOf([reply(5_000, 1)], () => 1_000)?.share).toBe(1);
  });
});
