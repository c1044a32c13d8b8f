/** What the reader does with the transcript, as signs for the follow store. */
import { type RefObject, useEffect } from "react";
import { LOOKS_BACK, type Sign } from "./follow";

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
