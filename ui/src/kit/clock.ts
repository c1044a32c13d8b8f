/**
 * The time as components see it: one clock for the page, ticking only while somebody looks at it. The
 * gallery gives its own, which stands still.
 */
import { createContext, useContext, useSyncExternalStore } from "react";
import { onFrame } from "./frame";

export interface Clock {
  now: () => number;
  subscribe: (listener: () => void) => () => void;
}

const TICK_MS = 1000;

function ticking(): Clock {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setInterval> | null = null;
  let at = Date.now();
  const tick = () => {
    at = Date.now();
    for (const listener of [...listeners]) listener();
  };
  return {
    now: () => at,
    subscribe(listener) {
      listeners.add(listener);
      if (timer === null) {
        at = Date.now();
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
  return { now: () => moment, subscribe: () => () => {} };
}

export const ClockContext = createContext<Clock>(ticking());

/** The present second; the component is drawn again with each. */
export function useNow(): number {
  const clock = useContext(ClockContext);
  return useSyncExternalStore(clock.subscribe, clock.now);
}

/** The clock itself, for whoever asks only sometimes. */
export function useClock(): Clock {
  return useContext(ClockContext);
}
