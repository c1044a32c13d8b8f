import type { Takeover } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import { lostDetails, lostLine } from "./takeover";

type Fate = Takeover["calls"][number]["fate"];

function takeover(more: Partial<Takeover> = {}): Takeover {
  return { attempt: 2, lost_workers: 1, after_seconds: 8, kept: false, calls: [], ...more };
}

function found(...fates: Fate[]): Takeover["calls"] {
  return fates.map((fate, at) => ({ call_id: `c${at}`, tool_name: `tool${at}`, fate }));
}

describe("the quiet line", () => {
  it.each<[string, Takeover]>([
    ["worker lost, continued after 8 s, nothing repeated", takeover({ kept: true })],
    ["worker lost, continued, nothing repeated", takeover({ after_seconds: null })],
    ["worker lost, continued after 0 s, nothing repeated", takeover({ after_seconds: 0 })],
    ["2 workers lost, continued after 1 min 5 s, nothing repeated", lost(2, 65)],
    [
      "worker lost, continued after 8 s, nothing repeated",
      takeover({ calls: found("joined", "not_started") }),
    ],
    [
      "worker lost, continued after 8 s, 1 call repeated: tool1",
      takeover({ calls: found("joined", "repeated") }),
    ],
    [
      "worker lost, continued after 8 s, 1 call with unknown outcome",
      takeover({ calls: found("unknown") }),
    ],
    [
      "worker lost, continued after 8 s, 2 calls repeated: tool0, tool1, 2 calls with unknown outcome",
      takeover({ calls: found("repeated", "repeated", "unknown", "unknown") }),
    ],
  ])("says %s", (line, given) => {
    expect(lostLine(given)).toBe(line);
  });

  it("names a tool once, however often it was repeated", () => {
    const calls = found("repeated", "repeated").map((call) => ({
      ...call,
      tool_name: "read_file",
    }));
    expect(lostLine(takeover({ calls }))).toContain("2 calls repeated: read_file");
  });

  it("does not say that nothing was repeated of a fate that it does not know", () => {
    expect(lostLine(takeover({ calls: found("torn" as Fate) }))).toBe(
      "worker lost, continued after 8 s",
    );
  });
});

describe("what the quiet line unfolds to", () => {
  const texts = (given: Takeover) => lostDetails(given).map(({ text }) => text);

  it("says whether the words were kept", () => {
    expect(texts(takeover({ kept: true }))).toEqual([
      "This is from attempt 2 at this step. 1 worker was lost.",
      "The text so far is kept, and the answer continues from there.",
    ]);
    expect(texts(lost(2, 8)).at(1)).toBe("The step started again.");
  });

  it("says what became of each call, each under a key of its own", () => {
    const calls = found("joined", "repeated", "unknown", "not_started");
    expect(texts(takeover({ calls })).slice(1)).toEqual([
      "tool0: resumed; not run twice",
      "tool1: run again; repeating it is safe",
      "tool2: outcome unknown; not run again",
      "tool3: had not been started",
    ]);
    const keys = lostDetails(takeover({ calls })).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

function lost(lost_workers: number, after_s: number): Takeover {
  return takeover({ lost_workers, after_seconds: after_s });
}
