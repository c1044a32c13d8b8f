/** Approval rules while they are edited, and as the server has them. */
import type { components } from "@holdfast/client";

type Policy = components["schemas"]["Policy"];
type Rule = components["schemas"]["Rule"];
export type RuleAction = Rule["action"];
export type PatternKind = "words" | "glob" | "regex";

export interface ArgumentDraft {
  readonly key: number;
  readonly name: string;
  readonly kind: PatternKind;
  readonly text: string;
}

export interface RuleDraft {
  readonly key: number;
  readonly tool: string;
  readonly action: RuleAction;
  readonly args: readonly ArgumentDraft[];
  readonly reason: string;
}

export interface PolicyDraft {
  readonly rules: readonly RuleDraft[];
  readonly otherwise: RuleAction;
}

let keys = 0;

/** Rows have no id of their own: the key only tells React which is which. */
function nextKey(): number {
  keys += 1;
  return keys;
}

export function newRule(): RuleDraft {
  return { key: nextKey(), tool: "", action: "ask", args: [], reason: "" };
}

export function newArgument(): ArgumentDraft {
  return { key: nextKey(), name: "command", kind: "words", text: "" };
}

const KINDS: readonly PatternKind[] = ["words", "glob", "regex"];

export function draftOf(policy: Policy): PolicyDraft {
  return {
    rules: policy.rules.map((rule) => ({
      key: nextKey(),
      tool: rule.tool,
      action: rule.action,
      reason: rule.reason,
      args: Object.entries(rule.arguments ?? {}).map(([name, pattern]) => {
        const kind = KINDS.find((each) => pattern[each] != null) ?? "glob";
        return { key: nextKey(), name, kind, text: pattern[kind] ?? "" };
      }),
    })),
    otherwise: policy.default,
  };
}

export function policyOf(draft: PolicyDraft): Policy {
  return {
    rules: draft.rules.map((rule) => ({
      tool: rule.tool.trim(),
      action: rule.action,
      arguments: Object.fromEntries(
        rule.args.map((each) => [each.name.trim(), { [each.kind]: each.text }]),
      ),
      reason: rule.reason,
    })),
    default: draft.otherwise,
  };
}

export function isSame(one: PolicyDraft, other: PolicyDraft): boolean {
  return JSON.stringify(policyOf(one)) === JSON.stringify(policyOf(other));
}

/** The list with the item at `index` one place up or down. */
export function moved<T>(items: readonly T[], index: number, by: 1 | -1): T[] {
  const to = index + by;
  const next = [...items];
  const [item] = next.splice(index, 1);
  if (item === undefined || to < 0 || to > next.length) return [...items];
  next.splice(to, 0, item);
  return next;
}
