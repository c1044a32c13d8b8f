/** The result of `advisor`: advice, or why there is none. */
import type { Call } from "./call";

type AdviceKind = "asking" | "advice" | "limit" | "error";

interface Advice {
  kind: AdviceKind;
  words: string;
  model: string;
  /** Null: no limit, or not known. */
  remaining: number | null;
}

/** A result in another form (stopped, skipped, of an unknown type) has its own words. */
export function adviceOf({ result }: Pick<Call, "result">): Advice {
  const none = { model: "", remaining: null };
  if (result === null) return { kind: "asking", words: "", ...none };
  const output: unknown = result.output;
  if (!isObject(output)) return { kind: "error", words: text(output), ...none };
  const model = text(output.model);
  const remaining = typeof output.remaining_uses === "number" ? output.remaining_uses : null;
  if (output.type === "advice")
    return { kind: "advice", words: text(output.advice), model, remaining };
  const kind = output.type === "limit_reached" ? "limit" : "error";
  return { kind, words: text(output.message), model, remaining };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
