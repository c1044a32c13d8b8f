/** Citations of a text: where the numbers of its sources stand. Pure. */
import type { Split } from "./blocks";

/** The number of a source, drawn behind the words that rest on it. */
export interface CitationMark {
  /** How many UTF-16 code units of the text, or of the block, stand before it. */
  readonly at: number;
  /** From 1, as in the list of sources. */
  readonly number: number;
  readonly title: string;
  readonly url: string;
}

export const NO_MARKS: readonly CitationMark[] = [];

interface PlacedMarks {
  /** By the place of a block in the split. */
  readonly blocks: ReadonlyMap<number, readonly CitationMark[]>;
  /** By the label of a footnote. They stand at its end. */
  readonly footnotes: ReadonlyMap<string, readonly CitationMark[]>;
}

const NOTHING_PLACED: PlacedMarks = { blocks: new Map(), footnotes: new Map() };

/** The marks of each block, counted from its beginning. A mark belongs to the block before it. */
export function placeMarks(
  { blocks, starts }: Pick<Split, "blocks" | "starts">,
  marks: readonly CitationMark[],
): PlacedMarks {
  if (marks.length === 0 || blocks.length === 0) return NOTHING_PLACED;
  const inBlocks = new Map<number, CitationMark[]>();
  const inFootnotes = new Map<string, CitationMark[]>();
  for (const mark of marks) {
    const at = Math.max(
      0,
      starts.findLastIndex((start) => start < mark.at),
    );
    const block = blocks[at];
    if (block?.kind === "footnote") {
      add(inFootnotes, block.label, { ...mark, at: Number.POSITIVE_INFINITY });
    } else add(inBlocks, at, { ...mark, at: mark.at - (starts[at] ?? 0) });
  }
  return { blocks: inBlocks, footnotes: inFootnotes };
}

function add<Key>(marks: Map<Key, CitationMark[]>, key: Key, mark: CitationMark): void {
  marks.set(key, [...(marks.get(key) ?? []), mark]);
}

/** Each number once, for a block whose end is the only place for them. */
export function uniqueMarks(marks: readonly CitationMark[]): CitationMark[] {
  const byNumber = new Map(marks.map((mark) => [mark.number, mark]));
  return [...byNumber.values()].sort((one, other) => one.number - other.number);
}

/**
 * Where the first `length` characters of `text` end in `source`, which has the same characters in the
 * same order, and others between them (escapes, indentation).
 */
export function offsetInSource(text: string, source: string, length: number): number {
  let at = 0;
  for (let n = 0; n < Math.min(length, text.length); n++) {
    const found = source.indexOf(text[n] ?? "", at);
    if (found < 0) return source.length;
    at = found + 1;
  }
  return at;
}

/** The other way round: how many characters of `text` come from `source` before `offset`. */
export function lengthBefore(text: string, source: string, offset: number): number {
  let at = 0;
  for (let n = 0; n < text.length; n++) {
    const found = source.indexOf(text[n] ?? "", at);
    if (found < 0) return text.length;
    if (found >= offset) return n;
    at = found + 1;
  }
  return text.length;
}
