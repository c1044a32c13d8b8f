import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { WireEvent } from "./types";
import { asJson, EMPTY, reduce } from "./view";

interface Fixture {
  about: string;
  steps: { event: WireEvent; expect?: Record<string, unknown> }[];
  view: Record<string, unknown>;
}

const FOLDER = resolve(process.cwd(), "../tests/golden/stream");
const FIXTURES = readdirSync(FOLDER).map(
  (name) => [name, JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8")) as Fixture] as const,
);

describe("the events of the shared fixtures lead to the same view as in Python", () => {
  it.each(FIXTURES)("%s", (_name, fixture) => {
    let view = EMPTY;
    for (const step of fixture.steps) {
      view = reduce(view, step.event);
      expect(asJson(view)).toMatchObject(step.expect ?? {});
    }
    // All that the page knows; the view in Python may have more.
    const seen = asJson(view) as object;
    const known = Object.entries(fixture.view).filter(([name]) => name in seen);
    expect(seen).toEqual({ ...(asJson(EMPTY) as object), ...Object.fromEntries(known) });
  });

  it("knows all fixtures", () => expect(FIXTURES.length).toBe(13));
});

describe("an attempt that is over", () => {
  it("says nothing any more, not even from its beginning", () => {
    const part = (attempt: number, text: string): WireEvent => ({
      event: "part",
      data: { attempt, seq: 1, deltas: [{ index: 0, kind: "text", text }] },
    });
    const view = [part(2, "new"), part(1, "old")].reduce(reduce, EMPTY);
    expect(view.preview).toMatchObject({ attempt: 2, parts: { 0: { text: "new" } } });
  });
});
