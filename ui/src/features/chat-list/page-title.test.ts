import { expect, it } from "vitest";
import { titleOf } from "./page-title";

it.each([
  ["Kelp", 0, false, "Kelp · Holdfast"],
  ["Kelp", 2, true, "(2) ● Kelp · Holdfast"],
  [null, 1, false, "(1) Holdfast"],
] as const)("the title of %s with %i unread", (name, unread, running, title) => {
  expect(titleOf(name, unread, running)).toBe(title);
});
