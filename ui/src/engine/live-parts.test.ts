import type { Preview } from "@holdfast/client";
import { expect, it } from "vitest";
import { livePartsOf, NO_PARTS } from "./live-parts";

function preview(parts: Preview["parts"]): Preview {
  return { attempt: 1, index: 1, parts, outputs: {} };
}

it("the list of live parts is the same until a part starts", () => {
  const one = livePartsOf(preview({ 0: { type: "text", text: "a" } }), NO_PARTS);
  expect(one).toEqual([{ index: 0, kind: "text", callId: "", tool: "" }]);
  const grown = livePartsOf(preview({ 0: { type: "text", text: "a b" } }), one);
  expect(grown).toBe(one);
  const call = { type: "tool_call" as const, call_id: "c", tool_name: "ls", arguments: "{" };
  const two = livePartsOf(preview({ 0: { type: "text", text: "a b" }, 1: call }), grown);
  expect(two).not.toBe(one);
  expect(two[0]).toBe(one[0]);
  expect(two[1]).toEqual({ index: 1, kind: "tool_call", callId: "c", tool: "ls" });
  expect(livePartsOf(null, two)).toEqual([]);
  expect(livePartsOf(null, NO_PARTS)).toBe(NO_PARTS);
});
