/**
 * One tooltip for the whole page: the text of the `data-tooltip` under the pointer, the keyboard focus
 * or a long press. A native `title` has neither keyboard nor touch, and a tooltip component per button
 * costs every row of a transcript.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";

const HOVER_MS = 400;
const PRESS_MS = 500;
const AFTER_PRESS_MS = 1500;
const GAP_PX = 6;

export function TooltipLayer() {
  const [target, setTarget] = useState<HTMLElement | null>(null);
  useEffect(() => listen(setTarget), []);
  const text = target?.dataset.tooltip;
  if (target === null || text === undefined) return null;
  return createPortal(<Tip target={target} text={text} />, document.body);
}

function Tip({ target, text }: { target: HTMLElement; text: string }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (tip.current === null) return;
    const { left, top } = place(
      target.getBoundingClientRect(),
      tip.current.getBoundingClientRect(),
    );
    tip.current.style.left = `${left}px`;
    tip.current.style.top = `${top}px`;
  });
  // The button has the text as its name or description: a screen reader needs no second one.
  return (
    <div
      ref={tip}
      aria-hidden
      data-tooltip-layer
      className="pointer-events-none fixed top-0 left-0 z-60 max-w-72 rounded-control bg-fg px-2 py-1 text-bg text-meta shadow-float"
    >
      {text}
    </div>
  );
}

/** Below its target, above it where there is no room, and never outside the window. */
function place(target: DOMRect, tip: DOMRect): { left: number; top: number } {
  const left = target.left + (target.width - tip.width) / 2;
  const below = target.bottom + GAP_PX;
  const fits = below + tip.height <= window.innerHeight;
  return {
    left: Math.max(GAP_PX, Math.min(left, window.innerWidth - tip.width - GAP_PX)),
    top: fits ? below : Math.max(0, target.top - GAP_PX - tip.height),
  };
}

function targetOf(event: Event): HTMLElement | null {
  return event.target instanceof Element ? event.target.closest("[data-tooltip]") : null;
}

function listen(setTarget: (target: HTMLElement | null) => void): () => void {
  let timer = 0;
  const after = (ms: number, target: HTMLElement | null) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => setTarget(target), ms);
  };
  const hide = () => {
    clearTimeout(timer);
    setTarget(null);
  };
  const listeners: { [E in keyof DocumentEventMap]?: (event: DocumentEventMap[E]) => void } = {
    pointerover: (event) => {
      if (event.pointerType === "touch") return;
      const target = targetOf(event);
      if (target === null) hide();
      else after(HOVER_MS, target);
    },
    pointerdown: (event) => {
      hide();
      if (event.pointerType === "touch") after(PRESS_MS, targetOf(event));
    },
    pointerup: (event) => event.pointerType === "touch" && after(AFTER_PRESS_MS, null),
    pointercancel: hide,
    focusin: (event) => {
      const target = targetOf(event);
      if (target?.matches(":focus-visible")) after(0, target);
    },
    focusout: hide,
    keydown: (event) => event.key === "Escape" && hide(),
    scroll: hide,
  };
  const all = Object.entries(listeners) as [string, EventListener][];
  for (const [name, listener] of all) document.addEventListener(name, listener, true);
  return () => {
    clearTimeout(timer);
    for (const [name, listener] of all) document.removeEventListener(name, listener, true);
  };
}
