/**
 * The one owner of the scroll is the virtual list; this tells it whether to hold on to the end. It
 * listens to what the reader does and changes the list's options at once: with the next render it
 * would be too late, and a delta in between would pull the reader back.
 */
import { observeElementOffset, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { AT_END, type Follow, follow, LOOKS_BACK, NEAR_END_PX, type Sign } from "./follow";

type List = Virtualizer<HTMLDivElement, HTMLElement>;

/** No distance from the end is within it: the list holds on to nothing. */
const NEVER_PX = -1;

export function thresholdOf({ mode }: Follow): number {
  return mode === "following" ? NEAR_END_PX : NEVER_PX;
}

export function useFollow(begin: Follow = AT_END) {
  const [state, draw] = useState(begin);
  // What is true now, and what was drawn last: a scroll by itself draws nothing.
  const now = useRef(begin);
  const drawn = useRef(begin);
  const list = useRef<List | null>(null);
  const sign = useCallback((sign: Sign) => {
    now.current = follow(now.current, sign);
    if (list.current !== null) {
      list.current.options.scrollEndThreshold = thresholdOf(now.current);
      list.current.options.followOnAppend = now.current.mode === "following";
    }
    if (looksAlike(drawn.current, now.current)) return;
    drawn.current = now.current;
    draw(now.current);
  }, []);
  return { state, now, sign, list };
}

function looksAlike(one: Follow, other: Follow): boolean {
  return one.mode === other.mode && one.fresh === other.fresh && isFar(one) === isFar(other);
}

/** Whether there is anything below what is seen. */
export function isFar({ distance, fresh }: Follow): boolean {
  return distance > 1 || fresh > 0;
}

const STILL_MS = 1000;

/**
 * Scroll positions for the list. That the scroll has come to rest is told late while it follows: it
 * will move on with the next words, and each change of rest and motion draws the list again.
 */
export function restingLate(now: RefObject<Follow>): typeof observeElementOffset {
  return (instance, tell) => {
    let late = 0;
    const stop = observeElementOffset(instance, (offset, isMoving) => {
      clearTimeout(late);
      if (isMoving || now.current.mode === "reading") return tell(offset, isMoving);
      const rest = () => tell(instance.scrollElement?.scrollTop ?? offset, false);
      late = window.setTimeout(rest, STILL_MS);
    });
    return () => {
      clearTimeout(late);
      stop?.();
    };
  };
}

/** The reader's hands and eyes, as signs. */
export function useSigns(
  scroller: RefObject<HTMLDivElement | null>,
  sign: (sign: Sign) => void,
  onResize: () => void,
): void {
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const lookBack = () => sign({ kind: "looks back" });
    const wheel = (event: WheelEvent) => {
      if (event.deltaY < 0 && isScrollable(current)) lookBack();
    };
    const key = (event: KeyboardEvent) => {
      if (LOOKS_BACK.has(event.key) && !isWriting(event.target)) lookBack();
    };
    let touchedAt = 0;
    const touch = (event: TouchEvent) => {
      touchedAt = event.touches[0]?.clientY ?? 0;
    };
    const drag = (event: TouchEvent) => {
      if ((event.touches[0]?.clientY ?? 0) > touchedAt + 4) lookBack();
    };
    const scrolled = () => sign(whereIs(current));
    const selected = () => {
      const selection = document.getSelection();
      if (selection === null || selection.isCollapsed || !current.contains(selection.anchorNode))
        return;
      lookBack();
    };
    const resized = new ResizeObserver(onResize);
    resized.observe(current);
    current.addEventListener("wheel", wheel, { passive: true });
    current.addEventListener("keydown", key);
    current.addEventListener("touchstart", touch, { passive: true });
    current.addEventListener("touchmove", drag, { passive: true });
    current.addEventListener("scroll", scrolled, { passive: true });
    document.addEventListener("selectionchange", selected);
    return () => {
      resized.disconnect();
      current.removeEventListener("wheel", wheel);
      current.removeEventListener("keydown", key);
      current.removeEventListener("touchstart", touch);
      current.removeEventListener("touchmove", drag);
      current.removeEventListener("scroll", scrolled);
      document.removeEventListener("selectionchange", selected);
    };
  }, [scroller, sign, onResize]);
}

/** Where the scroll is, also when it did not move and what it scrolls did. */
export function whereIs({ scrollTop: top, scrollHeight, clientHeight }: HTMLElement): Sign {
  return { kind: "scrolled", top, distance: Math.max(0, scrollHeight - clientHeight - top) };
}

function isScrollable(element: HTMLElement): boolean {
  return element.scrollHeight > element.clientHeight;
}

export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input, textarea, select, [contenteditable]") !== null
  );
}
