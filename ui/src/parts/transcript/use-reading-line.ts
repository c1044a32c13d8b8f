/**
 * The line that somebody reads stays when the text around it is laid out anew: the window or the list
 * beside it gets another width, or the letters come late.
 *
 * The list keeps still what lies wholly above or below the upper edge. Of the row that crosses it the
 * list cannot know how much lies above, so here the first line in sight is remembered by its text,
 * and after such a change the list is asked to scroll by as much as that text has moved.
 */
import type { Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect } from "react";
import type { Follow } from "./follow";

type List = Virtualizer<HTMLDivElement, HTMLElement>;

interface Line {
  text: Text;
  offset: number;
  /** How far its middle is below the upper edge of what is seen. */
  place: number;
}

/** Rows that come into sight are measured a frame later, and may move it once more. */
const SETTLING_FRAMES = 8;
const FAINT_PX = 0.5;
const HANDS = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

export function useReadingLine(
  scroller: RefObject<HTMLDivElement | null>,
  list: List,
  now: RefObject<Follow>,
): void {
  useEffect(() => {
    const { current } = scroller;
    const content = current?.firstElementChild ?? null;
    if (current === null || content === null) return;
    let line: Line | null = null;
    let width = current.clientWidth;
    let frames = 0;

    const remember = () => {
      line = now.current.mode === "reading" ? firstLine(current) : null;
    };
    const putBack = () => {
      if (line === null || now.current.mode !== "reading") return;
      const moved = (placeOf(line.text, line.offset, current) ?? line.place) - line.place;
      if (Math.abs(moved) > FAINT_PX) list.scrollBy(moved);
    };
    const settle = () => {
      putBack();
      if (--frames > 0) requestAnimationFrame(settle);
      else remember();
    };
    const laidOutAnew = () => {
      const isSettling = frames > 0;
      frames = SETTLING_FRAMES;
      width = current.clientWidth;
      if (isSettling) putBack();
      else settle();
    };
    const scrolled = () => {
      // While it settles it was us; with another width it was the browser, and we are told in a moment.
      if (frames === 0 && current.clientWidth === width) remember();
    };
    /** Whoever takes the scroll into their hands wants to be elsewhere. */
    const hands = () => {
      line = null;
    };
    const resized = new ResizeObserver(() => {
      const isOther = current.clientWidth !== width || document.fonts.status === "loading";
      if (isOther) laidOutAnew();
      else if (frames === 0) remember();
    });
    resized.observe(current);
    resized.observe(content);
    current.addEventListener("scroll", scrolled, { passive: true });
    for (const kind of HANDS) current.addEventListener(kind, hands, { passive: true });
    document.fonts.addEventListener("loadingdone", laidOutAnew);
    return () => {
      frames = 0;
      resized.disconnect();
      current.removeEventListener("scroll", scrolled);
      for (const kind of HANDS) current.removeEventListener(kind, hands);
      document.fonts.removeEventListener("loadingdone", laidOutAnew);
    };
  }, [scroller, list, now]);
}

/** The first line of text whose middle is in sight. */
function firstLine(scroller: HTMLElement): Line | null {
  const edge = scroller.getBoundingClientRect().top;
  const rows = [...scroller.querySelectorAll("article")]
    .map((row) => ({ row, box: row.getBoundingClientRect() }))
    .filter(({ box }) => box.bottom > edge)
    .sort((one, other) => one.box.top - other.box.top);
  for (const { row } of rows) {
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode() as Text | null; text; text = texts.nextNode() as Text | null) {
      const offset = firstBelow(text, scroller);
      if (offset === null) continue;
      return { text, offset, place: placeOf(text, offset, scroller) ?? 0 };
    }
  }
  return null;
}

/** Where in a text its first character in sight stands: lines follow one another, so by halving. */
function firstBelow(text: Text, scroller: HTMLElement): number | null {
  if (text.data.trim() === "" || text.parentElement?.closest(".sr-only")) return null;
  let low = 0;
  let high = text.length - 1;
  if ((placeOf(text, high, scroller) ?? -1) < 0) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((placeOf(text, middle, scroller) ?? -1) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * How far the middle of a character is below the upper edge; null if it is drawn nowhere. The middle,
 * since it is the line's own: other letters reach higher or lower in the same line.
 */
function placeOf(text: Text, offset: number, scroller: HTMLElement): number | null {
  if (!text.isConnected || offset >= text.length) return null;
  const range = document.createRange();
  range.setStart(text, offset);
  range.setEnd(text, offset + 1);
  const box = range.getClientRects()[0];
  return box === undefined
    ? null
    : (box.top + box.bottom) / 2 - scroller.getBoundingClientRect().top;
}
