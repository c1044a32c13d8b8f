import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { onFrame } from "./frame";

function becomes(state: "visible" | "hidden"): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
  document.dispatchEvent(new Event("visibilitychange"));
}

describe("what has changed is told", () => {
  let frames: FrameRequestCallback[] = [];
  beforeEach(() => {
    frames = [];
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", (run: FrameRequestCallback) => frames.push(run));
  });
  afterEach(() => {
    becomes("visible");
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  it("together, in one frame, in order", () => {
    const told: string[] = [];
    onFrame(() => told.push("log"));
    onFrame(() => told.push("list"));
    expect(frames).toHaveLength(1);
    frames[0]?.(0);
    expect(told).toEqual(["log", "list"]);
  });

  it("soon, when the tab goes out of sight before its frame", () => {
    const told: string[] = [];
    onFrame(() => told.push("log"));
    becomes("hidden");
    vi.advanceTimersByTime(250);
    expect(told).toEqual(["log"]);
    frames[0]?.(0); // comes when it is seen again
    expect(told).toEqual(["log"]);
  });
});
