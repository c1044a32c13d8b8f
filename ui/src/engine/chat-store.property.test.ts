/** However events are published, the view is the same. */
import { asJson, EMPTY, reduce, type WireEvent } from "@holdfast/client";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STREAMS } from "@/testing/golden";
import { ChatLog } from "./chat-store";

describe("a stream leads to the same view", () => {
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
