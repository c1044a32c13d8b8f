import { describe, expect, it } from "vitest";
import type { Call } from "@/features/tools/call";
import type { Item } from "@/features/transcript/items";
import { matchesIn, step } from "./find";

const at = (key: string) => ({ key, turn: 1, index: 0 });
const text = (key: string, said: string): Item => ({ kind: "text", ...at(key), text: said });
const thought = (key: string, said: string): Item => ({
  kind: "reasoning",
  ...at(key),
  text: said,
});
const tool = (key: string, command: string, output: string): Item => ({
  kind: "tool",
  ...at(key),
  action: null,
  call: {
    id: key,
    tool: "execute",
    arguments: { command },
    source: "",
    needs: null,
    state: "done",
    result: { type: "tool_result", call_id: key, tool_name: "execute", output, is_error: false },
    startedAt: null,
  } as unknown as Call,
});
const run = (key: string, hidden: number): Item => ({
  kind: "run",
  key,
  turn: 1,
  calls: [],
  hidden,
  isOpen: true,
});

describe("words in a transcript", () => {
  it("are found in any case, in the order of the items", () => {
    const items = [text("a", "A lease."), text("b", "nothing"), text("c", "LEASES end")];
    expect(matchesIn(items, " lease ").map(({ key }) => key)).toEqual(["a", "c"]);
    expect(matchesIn(items, "  ")).toEqual([]);
  });

  it("open what hides them: a thought, and what a command wrote", () => {
    const items = [thought("t", "who decides"), tool("x", "make test", "2 failed: who knows")];
    expect(matchesIn(items, "who")).toEqual([
      { key: "t", opens: ["t"] },
      { key: "x", opens: ["x"] },
    ]);
    expect(matchesIn(items, "make")).toEqual([{ key: "x", opens: [] }]);
  });

  it("open a folded run, but only for what it folds", () => {
    const items = [run("r", 2), tool("x", "one", ""), tool("y", "one", ""), tool("z", "one", "")];
    expect(matchesIn(items, "one").map(({ opens }) => opens)).toEqual([["r"], ["r"], []]);
  });
});

describe("going from one to the next", () => {
  it("goes round, and begins at the latest when it goes back", () => {
    expect([step(3, -1, -1), step(3, 2, 1), step(3, 0, -1), step(0, -1, 1)]).toEqual([2, 0, 2, -1]);
  });
});
