/** However a stream is cut, repeated or taken up again, the view is the same. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChatLog } from "./store";
import type { WireEvent } from "./types";
import { asJson, EMPTY, reduce } from "./view";

const FOLDER = resolve(process.cwd(), "../tests/golden/stream");
const STREAMS = readdirSync(FOLDER).map((name) => {
  const fixture = JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8"));
  return [name, fixture.steps.map((step: { event: WireEvent }) => step.event)] as const;
});

/** Kinds of which a repeat must change nothing: all but the one that is counted. */
const REPEATABLE = new Set(["message", "status", "queue", "part", "retry", "error", "ping"]);

describe("a stream told otherwise leads to the same view", () => {
  it.each(STREAMS)("%s: each event twice in a row", (_name, events: WireEvent[]) => {
    const once = events.reduce(reduce, EMPTY);
    fc.assert(
      fc.property(fc.array(fc.nat(events.length - 1)), (repeated) => {
        const again = new Set(repeated);
        let view = EMPTY;
        events.forEach((event, n) => {
          view = reduce(view, event);
          if (again.has(n) && REPEATABLE.has(event.event) && !takesBack(event)) {
            view = reduce(view, event);
          }
        });
        expect(asJson(view)).toEqual(asJson(once));
      }),
      { numRuns: 40 },
    );
  });

  it.each(STREAMS)("%s: taken up again from a snapshot at any point", (_name, events) => {
    const once = events.reduce(reduce, EMPTY);
    fc.assert(
      fc.property(fc.nat(events.length), (cut) => {
        const before = events.slice(0, cut).reduce(reduce, EMPTY);
        // As the server tells who comes without a cursor: forget everything, then all of it anew.
        const reset = { event: "history_reset", id: null, data: { from: 1, older: null } };
        const view = [reset, ...events].reduce(reduce, { ...before, lagged: 0 });
        expect(asJson(view)).toEqual(asJson(once));
      }),
      { numRuns: 20 },
    );
  });

  it.each(STREAMS)("%s: published in any batches", (_name, events: WireEvent[]) => {
    const once = events.reduce(reduce, EMPTY);
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: events.length }), (frames) => {
        let publish = (): void => {};
        const log = new ChatLog("c", (act) => {
          publish = act;
        });
        events.forEach((event, n) => {
          log.apply(event);
          if (frames[n]) publish();
        });
        publish();
        expect(asJson(log.snapshot().view)).toEqual(asJson(once));
        const keys = log.snapshot().rows.map((row) => row.key);
        expect(new Set(keys).size).toBe(keys.length);
      }),
      { numRuns: 20 },
    );
  });
});

/** A status takes back what was told before it; told again later it would do so again. */
function takesBack(event: WireEvent): boolean {
  return event.event === "status";
}
