/**
 * How full a model's context is, from what the last reply took: all that went in and what came out
 * is what the next one will read again.
 */
import type { Message } from "./types";

export interface Meter {
  readonly used: number;
  /** How many tokens the model can read; null: unknown. */
  readonly window: number | null;
  /** Null without a window; never above 1. */
  readonly share: number | null;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly costMicros: number | null;
  readonly model: string | null;
}

/** Null: nothing has been said that could be measured. A summary begins a new count. */
export function meterOf(
  messages: readonly Message[],
  windowOf: (model: string | null) => number | null,
): Meter | null {
  const last = messages.findLast((message) => message.role !== "tool" && message.usage !== null);
  const boundary = messages.findLast((message) => message.role === "boundary");
  if (last === undefined || last.role !== "assistant") return null;
  if (boundary !== undefined && boundary.seq > last.seq) return null;
  const { input = 0, cache_read: cached = 0, output = 0 } = last.usage ?? {};
  const used = input + output;
  const window = windowOf(last.model);
  return {
    used,
    window,
    share: window === null || window <= 0 ? null : Math.min(1, used / window),
    input,
    cached,
    output,
    costMicros: totalCost(messages),
    model: last.model,
  };
}

/** Of what is loaded; null: nobody knows of any. */
function totalCost(messages: readonly Message[]): number | null {
  const known = messages.flatMap(({ cost_micros: cost }) => (cost === null ? [] : [cost]));
  return known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0);
}
