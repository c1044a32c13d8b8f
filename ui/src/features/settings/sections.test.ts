import { expect, it } from "vitest";
import { isSection, sectionsFor, validateSectionSearch } from "./sections";

it("a member has no sections of administrators", () => {
  expect(sectionsFor("member")).not.toContain("users");
  expect(sectionsFor("admin")).toContain("users");
  expect(isSection("users")).toBe(true);
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
