/**
 * All that we change in the virtual list from outside React. TanStack Virtual reads these options when
 * a row is measured or added, which may happen before the next render. With the next render it would
 * be too late: a delta in between would pull the reader back to the end.
 */
import { observeElementOffset, type Virtualizer } from "@tanstack/react-virtual";
import { type Follow, NEAR_END_PX } from "./follow";

export type List = Virtualizer<HTMLDivElement, HTMLElement>;

type Mode = Follow["mode"];

/** No distance from the end is within it: the list does not hold on to the end. */
const NEVER_PX = -1;

/** The options by which the list holds on to its end, or does not. */
export function endOptions(mode: Mode): { followOnAppend: boolean; scrollEndThreshold: number } {
  const isFollowing = mode === "following";
  return { followOnAppend: isFollowing, scrollEndThreshold: isFollowing ? NEAR_END_PX : NEVER_PX };
}

/** Changes these options at once. The next render gives the same ones. */
export function setEndOptions(list: List, mode: Mode): void {
  Object.assign(list.options, endOptions(mode));
}

type ShouldAdjustScroll = List["shouldAdjustScrollPositionOnItemSizeChange"];

/** Decides which rows that grow move the scroll; `undefined`: as the list does by itself. */
export function setScrollAdjustment(list: List, shouldAdjust: ShouldAdjustScroll): void {
  list.shouldAdjustScrollPositionOnItemSizeChange = shouldAdjust;
}

const STILL_MS = 1000;

/**
 * Scroll positions for the list. That the scroll has come to rest is told late while it follows: it
 * will move on with the next words, and each change of rest and motion draws the list again.
 */
export function restingLate(mode: () => Mode): typeof observeElementOffset {
  return (instance, tell) => {
    let late = 0;
    const stop = observeElementOffset(instance, (offset, isMoving) => {
      clearTimeout(late);
      if (isMoving || mode() === "reading") return tell(offset, isMoving);
      const rest = () => tell(instance.scrollElement?.scrollTop ?? offset, false);
      late = window.setTimeout(rest, STILL_MS);
    });
    return () => {
      clearTimeout(late);
      stop?.();
    };
  };
}
