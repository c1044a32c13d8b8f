import { describe, expect, it } from "vitest";
import { BUSY, call, ENDS, STEP_LIMIT } from "@/testing/fixtures";
import { type AnnouncerState, announce, NOT_ANNOUNCED, QUIET_MS } from "./announce";
import type { Foot, Item } from "./items";

const items = (foot: Foot, turn = 1): Item[] => [
  { kind: "foot", key: `foot.${turn}`, turn, foot, isLast: true },
];
const going = (
  id: string | null,
  phase: "running" | "thinking" | "awaiting" = "running",
): Foot => ({
  is: "going",
  phase,
  since: null,
  what:
    id === null
      ? null
      : call(
          "execute",
          { command: id },
          { id, state: phase === "awaiting" ? "awaiting" : "running" },
        ),
});
const OVER: Foot = {
  is: "over",
  ends: { ...ENDS, calls: 3 },
  answer: "It is fixed.",
  regenerable: null,
};
const IDLE: AnnouncerState = { ...NOT_ANNOUNCED, turn: 0, is: "over" };

function announced(steps: [number, Item[]][], from = IDLE): (string | null)[] {
  let at = from;
  return steps.map(([now, given]) => {
    const said = announce(at, given, now);
    at = said.state;
    return said.assertive ?? said.polite;
  });
}

describe("the status region", () => {
  it("tells a turn from its beginning to its whole answer, and never a delta", () => {
    expect(
      announced([
        [0, items(going(null, "thinking"))],
        [100, items(going(null, "thinking"))],
        [QUIET_MS + 100, items(going("npm test"))],
        [QUIET_MS + 200, items(going("npm test"))],
        [60_000, items(OVER)],
        [61_000, items(OVER)],
      ]),
    ).toEqual([
      "Agent started",
      null,
      "Running npm test, running",
      null,
      "Finished, 3 steps. It is fixed.",
      null,
    ]);
  });

  it("says what is running at most every seven seconds", () => {
    const said = announced([
      [0, items(going(null))],
      [QUIET_MS, items(going("a"))],
      [QUIET_MS + 10, items(going("b"))],
      [2 * QUIET_MS, items(going("b"))],
    ]);
    expect(said).toEqual(["Agent started", "Running a, running", null, "Running b, running"]);
  });

  it("says at once that somebody is waited for, and what failed", () => {
    const asked = announce(
      { ...IDLE, turn: 1, is: "going", at: 1000 },
      items(going("rm x", "awaiting")),
      1001,
    );
    expect(asked.assertive).toBe("Needs your input: Wants to run rm x, needs your input");
    const broken = announce(
      { ...IDLE, turn: 1, is: "going" },
      items({ is: "failed", error: BUSY }),
      5,
    );
    expect(broken.assertive).toBe("The turn failed. The provider is busy.");
    const paused = announce(
      { ...IDLE, turn: 1, is: "going" },
      items({ is: "failed", error: STEP_LIMIT }),
      5,
    );
    expect(paused.assertive).toBe("The turn is paused. Go on, or send a message.");
  });

  it("waits for the call to wait before it says so", () => {
    const early = { ...going("rm x", "running"), phase: "awaiting" } as Foot;
    expect(
      announced(
        [
          [1001, items(early)],
          [1002, items(going("rm x", "awaiting"))],
        ],
        { ...IDLE, turn: 1, is: "going", at: 1000 },
      ),
    ).toEqual([null, "Needs your input: Wants to run rm x, needs your input"]);
  });

  it("does not tell a chat's past when it is opened", () => {
    expect(
      announced(
        [
          [0, items(OVER)],
          [9, items(OVER)],
        ],
        NOT_ANNOUNCED,
      ),
    ).toEqual([null, null]);
  });
});
