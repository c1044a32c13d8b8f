import { expect, it } from "vitest";
import { isSection, validateSectionSearch } from "./sections";

it("sections of the administration are no settings", () => {
  expect(isSection("account")).toBe(true);
  expect(isSection("users")).toBe(false);
  expect(isSection("no-such-section")).toBe(false);
});

it("search parameters that are no texts are dropped", () => {
  expect(validateSectionSearch({ q: "grace", after: "abc", more: 1 })).toEqual({
    q: "grace",
    after: "abc",
  });
  expect(validateSectionSearch({ q: 123 }).q).toBe("123");
  expect(validateSectionSearch({ q: "", after: { x: 1 } })).toEqual({});
  expect(validateSectionSearch({ q: "x".repeat(300) }).q).toHaveLength(200);
});
