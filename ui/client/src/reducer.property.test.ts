/** However a stream is cut, repeated or taken up again, the view is the same. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { told } from "@/testing/events";
import { STREAMS } from "@/testing/golden";
import { asJson, EMPTY, reduce } from "./reducer.js";
import type { WireEvent } from "./types.js";

/** Types of which a repeat must change nothing. */
const REPEATABLE = new Set([
  "message.created",
  "chat.state",
  "queue.updated",
  "preview.delta",
  "preview.reset",
  "ping",
]);

describe("a stream told otherwise leads to the same view", () => {
  it.each(STREAMS)("%s: each event twice in a row", (_name, events: WireEvent[]) => {
    const once = events.reduce(reduce, EMPTY);
    fc.assert(
      fc.property(fc.array(fc.nat(events.length - 1)), (repeated) => {
        const again = new Set(repeated);
        let view = EMPTY;
        events.forEach((event, n) => {
          view = reduce(view, event);
          if (again.has(n) && REPEATABLE.has(event.type)) {
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
        const reset = { from_seq: 1, older_before_seq: null, reason: "snapshot" };
        const view = [told("history.reset", reset), ...events].reduce(reduce, before);
        expect(asJson(view)).toEqual(asJson(once));
      }),
      { numRuns: 20 },
    );
  });
});
