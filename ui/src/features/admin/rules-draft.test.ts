import { expect, it } from "vitest";
import { draftOf, isSame, moved, newArgument, newRule, policyOf } from "./rules-draft";

const POLICY: Parameters<typeof draftOf>[0] = {
  rules: [
    {
      tool: "execute",
      action: "ask",
      arguments: { command: { words: "git push **" } },
      reason: "",
    },
    { tool: "*", action: "deny", arguments: {}, reason: "No." },
  ],
  default: "allow",
};

it("a policy is the same after it was edited without a change", () => {
  expect(policyOf(draftOf(POLICY))).toEqual(POLICY);
  expect(isSame(draftOf(POLICY), draftOf(POLICY))).toBe(true);
});

it("kinds that an answer names as null are no patterns", () => {
  const shown: typeof POLICY = {
    rules: [
      {
        tool: "x",
        action: "ask",
        reason: "",
        arguments: { a: { glob: null, regex: "b+", words: null } },
      },
    ],
    default: "allow",
  };
  expect(policyOf(draftOf(shown)).rules?.[0]?.arguments).toEqual({ a: { regex: "b+" } });
});

it("a rule that is added or moved makes another policy", () => {
  const draft = draftOf(POLICY);
  const added = { ...draft, rules: [...draft.rules, newRule()] };
  expect(isSame(draft, added)).toBe(false);
  const swapped = { ...draft, rules: moved(draft.rules, 0, 1) };
  expect(policyOf(swapped).rules?.map((rule) => rule.tool)).toEqual(["*", "execute"]);
  expect(moved([1, 2], 0, -1)).toEqual([1, 2]);
  expect(moved([1, 2], 1, 1)).toEqual([1, 2]);
  expect(newArgument().key).not.toBe(newArgument().key);
});
