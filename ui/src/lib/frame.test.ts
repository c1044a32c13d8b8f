import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Schedule } from "./frame";

function becomes(state: "visible" | "hidden"): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
  document.dispatchEvent(new Event("visibilitychange"));
}

/** Those that were sent before it have arrived by then. */
function aMessage(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

describe("what has changed is told", () => {
  let frames: FrameRequestCallback[] = [];
  let onFrame: Schedule;
  beforeEach(async () => {
    frames = [];
    vi.resetModules();
    ({ onFrame } = await import("./frame"));
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", (run: FrameRequestCallback) => frames.push(run));
  });
  afterEach(() => {
    becomes("visible");
    vi.unstubAllGlobals(); // first: what it puts back is the fake of the timers
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.resetModules(); // its rest ends by the fake clock, and would hold up tests of other files
  });

  it("together, in one frame, in order", () => {
    const told: string[] = [];
    onFrame(() => told.push("log"));
    onFrame(() => told.push("list"));
    expect(frames).toHaveLength(1);
    frames[0]?.(0);
    expect(told).toEqual(["log", "list"]);
  });

  it("after a rest, when the frame before took long", async () => {
    onFrame(() => vi.advanceTimersByTime(124)); // 100 more than a frame may take
    frames[0]?.(0);
    for (let n = 0; n < 3; n++) await aMessage();
    onFrame(() => {});
    vi.advanceTimersByTime(299);
    expect(frames).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(frames).toHaveLength(2);
  });

  it("after half a second, however long the frame before took", async () => {
    onFrame(() => vi.advanceTimersByTime(60_000)); // as of a machine that slept
    frames[0]?.(0);
    for (let n = 0; n < 3; n++) await aMessage();
    onFrame(() => {});
    vi.advanceTimersByTime(499);
    expect(frames).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(frames).toHaveLength(2);
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
