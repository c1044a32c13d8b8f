import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hearServerTime, useClock, useNowUntil } from "./clock";

const HERE = Date.parse("2026-05-01T12:00:00Z");

function told(ms: number): void {
  hearServerTime(new Date(ms).toUTCString());
}

const exact = (): number => renderHook(() => useClock().exact()).result.current;

describe("the time of the server", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: HERE });
    hearServerTime(new Date(HERE).toUTCString());
  });
  afterEach(() => vi.useRealTimers());

  it("is this device's own where that is about right", () => {
    told(HERE - 1000);
    expect(exact()).toBe(HERE);
  });

  it("is the server's where this device is plainly wrong", () => {
    told(HERE + 300_000);
    expect(Math.abs(exact() - (HERE + 300_000))).toBeLessThanOrEqual(500);
  });

  it("does not jump with every answer, and comes back when the device is put right", () => {
    told(HERE + 300_000);
    const first = exact();
    told(HERE + 301_000);
    expect(exact()).toBe(first);
    told(HERE);
    expect(exact()).toBe(HERE);
  });

  it("is left alone by an answer that does not tell it", () => {
    hearServerTime(null);
    hearServerTime("yesterday");
    expect(exact()).toBe(HERE);
  });

  it("is drawn again in the middle between two seconds, and at the end", () => {
    const until = HERE + 1800;
    const seen: number[] = [];
    renderHook(() => seen.push(until - useNowUntil(until)));
    for (let ms = 0; ms < 3000; ms += 50) act(() => vi.advanceTimersByTime(50));
    expect(seen).toEqual([1800, 1500, 500, 0]);
  });
});
