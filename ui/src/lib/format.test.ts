import { describe, expect, it } from "vitest";
import {
  bytes,
  cost,
  count,
  deadline,
  elapsed,
  firstLine,
  moment,
  plural,
  remaining,
  tail,
} from "./format";

describe("numbers as people read them", () => {
  it.each([
    [-5, "0.0 s"],
    [400, "0.4 s"],
    [12, "< 0.1 s"],
    [960, "1 s"],
    [12_400, "12 s"],
    [59_600, "1 min"],
    [185_000, "3 min 5 s"],
    [3_600_000, "1 h"],
    [7_440_000, "2 h 4 min"],
  ])("%i ms have elapsed: %s", (ms, said) => expect(elapsed(ms)).toBe(said));

  it.each([
    [null, null],
    [0, "free"],
    [12, "< $0.0001"],
    [1_234, "$0.0012"],
    [84_300, "$0.084"],
    [12_345_678, "$12.35"],
  ])("%s millionths of a dollar cost %s", (micros, said) => expect(cost(micros)).toBe(said));

  it.each([
    [999, "999"],
    [1000, "1k"],
    [1240, "1.2k"],
    [34_400, "34k"],
    [999_600, "1M"],
    [1_250_000, "1.3M"],
  ])("%i tokens are %s", (n, said) => expect(count(n)).toBe(said));

  it("counts bytes by thousands", () => {
    expect([bytes(12), bytes(3400), bytes(1_200_000)]).toEqual(["12 B", "3.4 KB", "1.2 MB"]);
  });

  it("says one step and two steps", () => {
    expect([plural(1, "step"), plural(2, "step"), plural(2, "search", "searches")]).toEqual([
      "1 step",
      "2 steps",
      "2 searches",
    ]);
  });

  it("never says that nothing is left while something is", () => {
    expect(remaining(10_001, 10_000)).toBe("1 s");
    expect(remaining(12_499, 10_000)).toBe("2 s");
    expect(remaining(12_500, 10_000)).toBe("3 s");
    expect(remaining(9_000, 10_000)).toBe("0.0 s");
  });

  it("names the moment of an end that is more than an hour away", () => {
    const now = new Date(2026, 10, 17, 15, 0).getTime();
    const ends = (ms: number) => deadline(now + ms, now, "en-GB");
    expect(ends(90_000)).toBe("in 1 min 30 s");
    expect(ends(2 * 3_600_000)).toBe("17:00");
    expect(ends(6 * 86_400_000)).toBe("23 Nov, 15:00");
  });

  it("leaves out of a moment what the reader knows", () => {
    const now = new Date(2026, 2, 4, 15, 0).getTime();
    const at = (...when: [number, number, number, number, number]) =>
      moment(new Date(...when).toISOString(), now, "en-GB");
    expect(at(2026, 2, 4, 14, 5)).toBe("14:05");
    expect(at(2026, 2, 3, 14, 5)).toBe("3 Mar, 14:05");
    expect(at(2025, 2, 3, 14, 5)).toBe("3 Mar 2025, 14:05");
  });

  it("shows the end of what grows and the first line that says something", () => {
    expect(tail("a\nb\nc\nd\n", 3)).toEqual(["b", "c", "d"]);
    expect(tail("", 3)).toEqual([""]);
    expect(firstLine("\n\n  hello\nthere")).toBe("  hello");
    expect(firstLine("x".repeat(10), 5)).toBe("xxxx…");
  });
});
