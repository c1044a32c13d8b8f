import { describe, expect, it } from "vitest";
import { isTimeToAsk, wayOf } from "./notifications";

const AWAY = { attended: false, here: false, wanted: true, granted: true };

describe("who is told of a chat", () => {
  it.each([
    ["who looks at the chat sees it", { ...AWAY, attended: true, here: true }, "nothing"],
    ["who looks at another chat is told in the page", { ...AWAY, attended: true }, "page"],
    ["who looks elsewhere is told by the browser", AWAY, "browser"],
    ["the chat of a page that nobody sees counts as elsewhere", { ...AWAY, here: true }, "browser"],
    ["who did not allow it is let be", { ...AWAY, granted: false }, "nothing"],
    ["who turned it off is told nowhere", { ...AWAY, attended: true, wanted: false }, "nothing"],
  ] as const)("%s", (_, now, way) => {
    expect(wayOf({ kind: "failed", ranMs: 0 }, now)).toBe(way);
    expect(wayOf({ kind: "finished", ranMs: 60_000 }, now)).toBe(way);
  });

  it("is nobody when a short run ended well", () => {
    expect(wayOf({ kind: "finished", ranMs: 900 }, AWAY)).toBe("nothing");
    expect(wayOf({ kind: "needs", ranMs: 900 }, AWAY)).toBe("browser");
  });
});

describe("the browser's permission is asked for", () => {
  const long = { ranMs: 31_000 };
  it("after a long run, once", () => {
    expect(isTimeToAsk(long, "default", true, false)).toBe(true);
    expect(isTimeToAsk({ ranMs: 29_000 }, "default", true, false)).toBe(false);
    expect(isTimeToAsk(long, "default", true, true)).toBe(false);
  });
  it("never of who decided already, turned it off or cannot have it", () => {
    expect(isTimeToAsk(long, "granted", true, false)).toBe(false);
    expect(isTimeToAsk(long, "denied", true, false)).toBe(false);
    expect(isTimeToAsk(long, null, true, false)).toBe(false);
    expect(isTimeToAsk(long, "default", false, false)).toBe(false);
  });
});
