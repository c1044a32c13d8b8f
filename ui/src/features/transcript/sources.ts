/** Sources of a message, and the places in its text that cite them. Pure. */
import type { MessagePart } from "@holdfast/client";
import { type CitationMark, NO_MARKS } from "@/markdown/citations";
import { hostOf } from "@/markdown/links";

export interface Source {
  readonly url: string;
  readonly title: string;
}

type TextPart = Extract<MessagePart, { type: "text" }>;

/** In the order of their numbers, which begin with 1; each address once. */
export function sourcesOf(parts: readonly MessagePart[]): readonly Source[] {
  const byUrl = new Map<string, Source>();
  for (const part of parts) {
    if (part.type === "source" && !byUrl.has(part.url)) byUrl.set(part.url, part);
  }
  return [...byUrl.values()];
}

export function sourceLabel({ url, title }: Source): string {
  return title === "" ? hostOf(url) : title;
}

/**
 * The number of each cited source, behind the words that cite it: in ascending order, and each number
 * once in a place. A citation whose source is not in the list has no number.
 */
export function marksOf(
  { text, citations }: Pick<TextPart, "text" | "citations">,
  sources: readonly Source[],
): readonly CitationMark[] {
  if (citations.length === 0) return NO_MARKS;
  const offsets = codeUnits(text, new Set(citations.flatMap(({ start, end }) => [start, end])));
  const marks = new Map<string, CitationMark>();
  for (const { start, end, source_url: url } of citations) {
    const found = sources.findIndex((source) => source.url === url);
    const source = sources[found];
    if (source === undefined) continue;
    const from = offsets.get(start) ?? 0;
    const cited = text.slice(from, offsets.get(end) ?? text.length).trimEnd();
    const at = from + cited.length;
    const mark = { at, number: found + 1, title: sourceLabel(source), url };
    if (cited !== "") marks.set(`${at} ${mark.number}`, mark);
  }
  return [...marks.values()].sort((one, other) => one.at - other.at || one.number - other.number);
}

/**
 * How many UTF-16 code units stand before each of these places, which are counted in code points. A
 * place behind the end of the text has none.
 */
function codeUnits(text: string, places: ReadonlySet<number>): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  let [point, unit] = [0, 0];
  for (const character of text) {
    if (places.has(point)) found.set(point, unit);
    point++;
    unit += character.length;
  }
  return found.set(point, unit);
}
