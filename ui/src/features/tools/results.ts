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
  const fields = output as Fields;
  const blocks = blocksOf(fields);
  if (blocks !== null)
    return blocks
      .map(textOf)
      .filter((text) => text !== "")
      .join("\n");
  const named = ["output", "text", "stdout", "message", "error"].map((name) => fields[name]);
  return named.find((value) => typeof value === "string") ?? pretty(output);
}

export interface OutputImage {
  mediaType: string;
  base64: string;
}

/** The images of a result; `data` is base64. */
export function outputImages(result: ToolResultPart | null): readonly OutputImage[] {
  const output: unknown = result?.output ?? null;
  if (typeof output !== "object" || output === null || Array.isArray(output)) return [];
  const blocks = blocksOf(output as Fields) ?? [];
  return blocks.flatMap(({ type, data, mimeType }) =>
    type === "image" && typeof data === "string" && typeof mimeType === "string"
      ? [{ mediaType: mimeType, base64: data }]
      : [],
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** The typed blocks of `{"content": [{"type": "text", …}]}`. */
function blocksOf({ content }: Fields): readonly Fields[] | null {
  if (!Array.isArray(content)) return null;
  const isBlock = (each: unknown): each is Fields =>
    typeof each === "object" && each !== null && "type" in each;
  return content.every(isBlock) ? content : null;
}

function textOf(block: Fields): string {
  if (block.type === "image") return "";
  return typeof block.text === "string" ? block.text : pretty(block);
}

function withoutLines(text: string, count: number): string {
  return count === 0 ? text : text.split("\n").slice(count).join("\n");
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
