/** How to get to a message by its seq: where it stands, or what to do to have it. Pure. */
import type { Message } from "@holdfast/client";
import type { Row } from "@/engine/rows";
import { type Match, withFolds } from "@/features/find/find";
import type { Item } from "./items";

export type Jump =
  | { is: "found"; match: Match }
  /** It can only be in an older page. */
  | { is: "older" }
  /** Newer than all that came so far: a page that reconnects may still get it. */
  | { is: "newer" }
  | { is: "missing" };

interface Loaded {
  readonly messages: readonly Message[];
  readonly rows: readonly Row[];
  /** With every run open. */
  readonly items: readonly Item[];
  /** Earlier messages that are not here yet; null: all are. */
  readonly older: number | null;
}

export function jumpTo(seq: number, { messages, rows, items, older }: Loaded): Jump {
  const message = messages.find((each) => each.seq === seq);
  const row = rows.findLast((each) => each.kind !== "sending" && each.seq <= seq);
  if (row !== undefined && (message !== undefined || row.seq === seq)) {
    const match = matchOf(row, message, items);
    return match === null ? { is: "missing" } : { is: "found", match };
  }
  if (seq > (messages.at(-1)?.seq ?? 0)) return { is: "newer" };
  const isBefore = seq < (messages[0]?.seq ?? 0);
  return { is: isBefore && older !== null ? "older" : "missing" };
}

/** The call of a result, the first item of another message, or the turn of one that shows nothing. */
function matchOf(row: Row, message: Message | undefined, items: readonly Item[]): Match | null {
  const calls = new Set(
    message?.role === "tool"
      ? message.parts.flatMap((part) => (part.type === "tool_result" ? [part.call_id] : []))
      : [],
  );
  const all = withFolds(items);
  const found =
    all.find(({ item }) => item.kind === "tool" && calls.has(item.call.id)) ??
    all.find(({ item: { key } }) => key === row.key || key.startsWith(`${row.key}.`)) ??
    all.find(({ item }) => item.turn === row.turn && item.kind !== "older");
  return found === undefined ? null : { key: found.item.key, opens: found.folded };
}
