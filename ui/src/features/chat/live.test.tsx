import { act, cleanup, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, describe, expect, it } from "vitest";
import { type Clock, ClockContext } from "@/lib/clock";
import { LiveContext, type LiveSource, useSilence } from "./live";

afterEach(cleanup);

function emitter() {
  const listeners = new Set<() => void>();
  return {
    listeners,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    emit: () => act(() => listeners.forEach((listener) => void listener())),
  };
}

/** The hook with a clock and a chat that the test moves. */
function silence(fromMs: number) {
  const ticks = emitter();
  const news = emitter();
  let now = 5_000;
  const clock: Clock = { now: () => now, exact: () => now, subscribe: ticks.subscribe };
  const source: LiveSource = { subscribe: news.subscribe, preview: () => null };
  const wrapper = ({ children }: { children: ReactNode }) => (
    <ClockContext value={clock}>
      <LiveContext value={source}>{children}</LiveContext>
    </ClockContext>
  );
  const drawn: number[] = [];
  const { unmount } = renderHook(() => void drawn.push(useSilence(fromMs)), { wrapper });
  const passes = (ms: number) => {
    now += ms;
    ticks.emit();
  };
  return { drawn, passes, hears: news.emit, unmount, ticks, news };
}

describe("the silence of a chat", () => {
  it("counts from the mount on, and is drawn from the threshold on", () => {
    const { drawn, passes } = silence(3_000);
    for (let second = 0; second < 4; second++) passes(1_000);
    expect(drawn).toEqual([0, 3_000, 4_000]);
  });

  it("ends as soon as the chat is heard of, without waiting for the next tick", () => {
    const { drawn, passes, hears } = silence(3_000);
    passes(4_000);
    hears();
    expect(drawn).toEqual([0, 4_000, 0]);
    passes(2_000);
    passes(1_000);
    expect(drawn).toEqual([0, 4_000, 0, 3_000]);
  });

  it("draws nothing while the chat streams", () => {
    const { drawn, passes, hears } = silence(3_000);
    for (let delta = 0; delta < 100; delta++) {
      passes(500);
      hears();
    }
    expect(drawn).toEqual([0]);
  });

  it("stops listening to the clock and the chat when it is unmounted", () => {
    const { unmount, ticks, news } = silence(3_000);
    expect([ticks.listeners.size, news.listeners.size]).toEqual([1, 1]);
    unmount();
    expect([ticks.listeners.size, news.listeners.size]).toEqual([0, 0]);
  });
});
