import { describe, expect, it } from "vitest";
import { told } from "@/testing/events";
import { FIXTURES } from "@/testing/golden";
import { asJson, EMPTY, reduce } from "./reducer.js";
import type { WireEvent } from "./types.js";

describe("the events of the shared fixtures lead to the same view as in Python", () => {
  it.each(FIXTURES)("%s", (_name, fixture) => {
    let view = EMPTY;
    for (const step of fixture.steps) {
      view = reduce(view, step.event);
      expect(asJson(view)).toMatchObject(step.expect ?? {});
    }
    expect(asJson(view)).toEqual(fixture.view);
  });

  it("knows all fixtures", () => expect(FIXTURES.length).toBe(20));
});

describe("an attempt that is over", () => {
  it("says nothing any more, not even from its beginning", () => {
    const delta = (attempt: number, text: string): WireEvent =>
      told("preview.delta", { attempt, index: 1, deltas: [{ type: "text", index: 0, text }] });
    const view = [delta(2, "new"), delta(1, "old")].reduce(reduce, EMPTY);
    expect(view.preview).toMatchObject({ attempt: 2, parts: { 0: { text: "new" } } });
  });
});

it("an unknown type changes nothing but the cursor", () => {
  const view = reduce(EMPTY, { ...told("toString", { new: 1 }, "c"), version: null });
  expect(view).toEqual({ ...EMPTY, cursor: "c" });
});

it("a commit counts once its last event came", () => {
  const begun = { ...told("preview.reset", { attempt: 1, reason: "ended" }), version: 7 };
  const view = reduce(EMPTY, { ...begun, final: false });
  expect(view.version).toBe(0);
  expect(reduce(view, begun).version).toBe(7);
});
