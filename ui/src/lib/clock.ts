/**
 * The time as components see it: one clock for the page, ticking only while somebody looks at it. The
 * gallery gives its own, which stands still.
 *
 * What is compared with it was said by the server, so it goes by the server's time where this
 * device's own is plainly wrong.
 */
import { createContext, useContext, useEffect, useReducer, useSyncExternalStore } from "react";
import { onFrame } from "./frame";

export interface Clock {
  /** As of the last tick: the same for all who ask in between. */
  now: () => number;
  exact: () => number;
  subscribe: (listener: () => void) => () => void;
}

const TICK_MS = 1000;
/** Answers tell the time in whole seconds, and take a while; a clock about as right is finer. */
const COARSE_MS = 2000;
let behind = 0;

/** By the `Date` of an answer. */
export function hearServerTime(date: string | null): void {
  const told = Date.parse(date ?? "") + 500;
  if (Number.isNaN(told)) return;
  const off = told - Date.now();
  if (Math.abs(off) < COARSE_MS) behind = 0;
  else if (Math.abs(off - behind) >= COARSE_MS) behind = off; // else known: no number shall jump
}

const serverNow = (): number => Date.now() + behind;

function ticking(): Clock {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | null = null;
  let at = serverNow();
  const tick = () => {
    at = serverNow();
    for (const listener of [...listeners]) listener();
  };
  return {
    now: () => at,
    exact: serverNow,
    subscribe(listener) {
      listeners.add(listener);
      if (timer === null) {
        at = serverNow();
        timer = setInterval(() => onFrame(tick), TICK_MS);
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
      };
    },
  };
}

/** Always the same moment. */
export function stoppedAt(moment: number): Clock {
  return { now: () => moment, exact: () => moment, subscribe: () => () => {} };
}

export const ClockContext = createContext<Clock>(ticking());

/** The present second; the component is drawn again with each. */
export function useNow(): number {
  const clock = useContext(ClockContext);
  return useSyncExternalStore(clock.subscribe, clock.now);
}

/**
 * The present moment, for whoever counts down: drawn again just when the seconds until then, to the
 * nearest, change. With the page's ticks, a number could be old by a second.
 */
export function useNowUntil(until: number): number {
  const { exact } = useContext(ClockContext);
  const [, again] = useReducer((times: number) => times + 1, 0);
  const now = exact();
  useEffect(() => {
    if (until <= now) return;
    const changesIn = (until - now + TICK_MS / 2) % TICK_MS || TICK_MS;
    const timer = setTimeout(again, Math.min(changesIn, until - now));
    return () => clearTimeout(timer);
  });
  return now;
}

/** The clock itself, for whoever asks only sometimes. */
export function useClock(): Clock {
  return useContext(ClockContext);
}
