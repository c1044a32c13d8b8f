/**
 * The text of a result, whatever its form. How a call ended is in fields of the result itself
 * (`exit_code`, `process_id`, …): no text is parsed for it.
 */
import type { ToolResultPart } from "@holdfast/client";

/** The output without the tool's own summary of it. */
export function outputText(result: ToolResultPart | null): string {
  const output: unknown = result?.output ?? null;
  if (result === null || output === null) return "";
  if (typeof output === "string") return withoutLines(output, result.summary_lines);
  if (typeof output !== "object" || Array.isArray(output)) return pretty(output);
  const fields = output as Readonly<Record<string, unknown>>;
  const named = ["output", "text", "stdout", "message", "error"].map((name) => fields[name]);
  return named.find((value) => typeof value === "string") ?? pretty(output);
}

function withoutLines(text: string, count: number): string {
  return count === 0 ? text : text.split("\n").slice(count).join("\n");
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
