/**
 * Words in a whole transcript: rows are virtual, so the browser's own search would miss most of them.
 *
 * What is found is an item; that it is folded away does not hide it. Pure.
 */
import { textOf } from "@holdfast/client";
import { outputText } from "@/features/tools/results";
import { headline } from "@/features/tools/words";
import type { Item } from "@/features/transcript/items";
import { lostLine } from "@/features/transcript/takeover";

export interface Match {
  readonly key: string;
  /** What must be open for it to be seen: a folded run, and the item itself. */
  readonly opens: readonly string[];
}

/** `items` with every run open. */
export function matchesIn(items: readonly Item[], wanted: string): Match[] {
  const needle = wanted.trim().toLowerCase();
  if (needle === "") return [];
  return withFolds(items).flatMap(({ item, folded }) => {
    const where = whereIn(item, needle);
    if (where === null) return [];
    return [{ key: item.key, opens: where === "inside" ? [...folded, item.key] : folded }];
  });
}

interface FoldedItem {
  readonly item: Item;
  /** The run that hides it, unless that is open; empty: none does. */
  readonly folded: readonly string[];
}

/** `items`, which have every run open, without the heads of the runs. */
export function withFolds(items: readonly Item[]): FoldedItem[] {
  const all: FoldedItem[] = [];
  let run: { key: string; left: number } | null = null;
  for (const item of items) {
    if (item.kind === "run") {
      run = { key: item.key, left: item.hidden };
      continue;
    }
    all.push({ item, folded: run !== null && run.left > 0 ? [run.key] : [] });
    if (run !== null) run = { ...run, left: run.left - 1 };
  }
  return all;
}

/** On what is always shown of it, or inside, where it must be opened. */
function whereIn(item: Item, needle: string): "shown" | "inside" | null {
  const has = (text: string) => text.toLowerCase().includes(needle);
  switch (item.kind) {
    case "user":
      return has(textOf(item.message.parts)) ? "shown" : null;
    case "text":
      return has(item.text ?? "") ? "shown" : null;
    case "sending":
      return has(item.sending.text) ? "shown" : null;
    case "reasoning":
      return has(item.text ?? "") ? "inside" : null;
    case "lost":
      return has(lostLine(item.takeover)) ? "shown" : null;
    case "boundary":
      return has(textOf(item.message.parts)) ? "inside" : null;
    case "tool": {
      const { verb, object } = headline(item.call);
      if (has(`${verb} ${object}`)) return "shown";
      const arguments_ = JSON.stringify(item.call.arguments ?? {});
      return has(arguments_) || has(outputText(item.call.result)) ? "inside" : null;
    }
    default:
      return null;
  }
}

/** The one to go to from where one is, round the end; -1: there is none. */
export function step(count: number, at: number, by: 1 | -1): number {
  if (count === 0) return -1;
  if (at < 0) return by === 1 ? 0 : count - 1;
  return (at + by + count) % count;
}
