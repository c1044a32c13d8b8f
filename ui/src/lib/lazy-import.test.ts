import { describe, expect, it } from "vitest";
import { part } from "./lazy-import";

describe("a part of the page", () => {
  it("is what was asked for", async () => {
    expect(await part(async () => ({ Settings: "here" }))).toEqual({ Settings: "here" });
  });

  it("does not come while the page is loaded anew", async () => {
    const later = new Promise((resolve) => setTimeout(resolve, 20, "nothing yet"));
    expect(await Promise.race([part(async () => undefined), later])).toBe("nothing yet");
  });

  it("is said to be missing in words that the router does not take for its own", async () => {
    const missing = part(() => Promise.reject(new TypeError("Failed to fetch")));
    await expect(missing).rejects.toThrow(/^A part of the page is missing: TypeError/);
  });
});
