/**
 * The line that somebody reads stays when the text around it is laid out anew: the window or the list
 * beside it gets another width, the letters come late, something above it grows.
 *
 * What becomes higher or lower above that line, the list makes good by scrolling, in the same frame.
 * Of the row that the line itself is in, the list cannot know which part lies above: so the first line
 * in sight is remembered by its text, and how far it is from the top of its row.
 */
import type { VirtualItem } from "@tanstack/react-virtual";
import { type RefObject, useEffect } from "react";
import type { FollowStore } from "./follow-store";
import { type List, setScrollAdjustment } from "./virtual-list";

interface Line {
  row: HTMLElement;
  text: Text;
  offset: number;
  /** How far below the top of its row. */
  within: number;
}

export function useReadingLine(
  scroller: RefObject<HTMLDivElement | null>,
  list: List,
  follow: FollowStore,
): void {
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    let line: Line | null = null;
    let isSplitting = false;
    let next = 0;

    function remember(): void {
      if (current === null) return;
      cancelAnimationFrame(next);
      // Laid out anew since the list has measured it: what we know is from before, and needed now. By
      // the next frame it is measured, and nothing may scroll then that would have us look again.
      if (line?.row.isConnected && !isAsMeasured(line.row, list)) {
        next = requestAnimationFrame(remember);
        return;
      }
      line = follow.now.mode === "reading" ? firstLine(current, list) : null;
      setScrollAdjustment(list, line === null ? undefined : isAbove);
    }
    /** Whether the scroll must make good what an item has grown. */
    function isAbove(item: VirtualItem, delta: number): boolean {
      if (isSplitting) return true;
      if (line === null || !line.row.isConnected) return item.end <= (list.scrollOffset ?? 0);
      const at = Number(line.row.dataset.index);
      return item.index === at ? isAboveLine(line, item, delta) : item.index < at;
    }
    function isAboveLine(line: Line, item: VirtualItem, delta: number): boolean {
      const within = placeIn(line.row, line.text, line.offset);
      if (within === null) return false;
      const moved = within - line.within;
      line.within = within;
      if (moved === 0 || moved === delta) return moved !== 0;
      // First what came above the line; what came below it is the rest of the call that asks us.
      isSplitting = true;
      list.resizeItem(item.index, (list.itemSizeCache.get(item.key) ?? item.size) + moved);
      isSplitting = false;
      return false;
    }

    current.addEventListener("scroll", remember, { passive: true });
    return () => {
      cancelAnimationFrame(next);
      setScrollAdjustment(list, undefined);
      current.removeEventListener("scroll", remember);
    };
  }, [scroller, list, follow]);
}

function isAsMeasured(row: HTMLElement, list: List): boolean {
  const known = list.itemSizeCache.get(row.dataset.key ?? "");
  return known === undefined || Math.abs(known - row.offsetHeight) < 1;
}

/**
 * The first line of text whose middle is in sight. Not of a row that reaches into sight only until the
 * list has measured it: that belongs above, and all that follows would be pushed down by it.
 */
function firstLine(scroller: HTMLElement, list: List): Line | null {
  const edge = scroller.getBoundingClientRect().top;
  const rows = [...scroller.querySelectorAll<HTMLElement>("article")]
    .map((row) => ({ row, box: row.getBoundingClientRect() }))
    .filter(({ row, box }) => box.bottom > edge && box.top + roomOf(row, list) > edge)
    .sort((one, other) => one.box.top - other.box.top);
  for (const { row, box } of rows) {
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode() as Text | null; text; text = texts.nextNode() as Text | null) {
      const offset = firstBelow(row, text, edge - box.top);
      if (offset === null) continue;
      return { row, text, offset, within: placeIn(row, text, offset) ?? 0 };
    }
  }
  return null;
}

function roomOf(row: HTMLElement, list: List): number {
  return list.measurementsCache[Number(row.dataset.index)]?.size ?? row.offsetHeight;
}

/** Where in a text its first character below an edge stands: lines follow one another, so by halving. */
function firstBelow(row: HTMLElement, text: Text, edge: number): number | null {
  if (text.data.trim() === "" || text.parentElement?.closest(".sr-only")) return null;
  const isBelow = (offset: number) => (placeIn(row, text, offset) ?? edge - 1) >= edge;
  let low = 0;
  let high = text.length - 1;
  if (!isBelow(high)) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBelow(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * How far the middle of a character is below the top of its row; null if it is drawn nowhere. The
 * middle, since it is the line's own: other letters reach higher or lower in the same line.
 */
function placeIn(row: HTMLElement, text: Text, offset: number): number | null {
  if (!text.isConnected || offset >= text.length) return null;
  const range = document.createRange();
  range.setStart(text, offset);
  range.setEnd(text, offset + 1);
  const box = range.getClientRects()[0];
  if (box === undefined) return null;
  return (box.top + box.bottom) / 2 - row.getBoundingClientRect().top;
}
