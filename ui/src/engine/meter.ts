/**
 * How full a model's context is, from the usage of the last reply: the next request sends its input
 * and its output again.
 */
import type { Message } from "@holdfast/client";

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

/** Null: no reply has a usage yet. A summary begins a new count. */
export function meterOf(
  messages: readonly Message[],
  windowOf: (model: string | null) => number | null,
): Meter | null {
  const last = messages.findLast((message) => message.role !== "tool" && message.usage !== null);
  const boundary = messages.findLast((message) => message.role === "summary");
  if (last === undefined || last.role !== "assistant") return null;
  if (boundary !== undefined && boundary.seq > last.seq) return null;
  const input = last.usage?.input_tokens ?? 0;
  const cached = last.usage?.cache_read_tokens ?? 0;
  const output = last.usage?.output_tokens ?? 0;
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

/** Of the loaded messages; null: no cost is known. */
function totalCost(messages: readonly Message[]): number | null {
  const known = messages.flatMap(({ cost_micro_usd: cost }) => (cost === null ? [] : [cost]));
  return known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0);
}
