import { describe, expect, it } from "vitest";
import { clamped, MAX_PX, MIN_PX, USUAL_PX, widthBy } from "./resizer";

describe("the width of the list", () => {
  it("stays between its bounds, whatever was stored", () => {
    expect([clamped(10), clamped(300.4), clamped(9_999)]).toEqual([MIN_PX, 300, MAX_PX]);
    expect(clamped(Number.NaN)).toBe(USUAL_PX);
  });

  it("is changed by keys as by a drag", () => {
    expect([widthBy("ArrowRight", 300), widthBy("ArrowLeft", 300)]).toEqual([320, 280]);
    expect([widthBy("ArrowLeft", MIN_PX), widthBy("ArrowRight", MAX_PX)]).toEqual([MIN_PX, MAX_PX]);
    expect([widthBy("Home", 300), widthBy("End", 300), widthBy("a", 300)]).toEqual([
      MIN_PX,
      MAX_PX,
      null,
    ]);
  });
});
