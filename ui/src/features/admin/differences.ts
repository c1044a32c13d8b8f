/** What another administrator changed between two looks at the same thing. */
import { adminStrings as t } from "@/i18n/en/admin";

/** `before` and `after`: for people. */
export interface Difference {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** How the fields that are shown are called, and what their values are for people. */
export type Words<T> = {
  readonly [K in keyof T]?: readonly [name: string, shown?: (value: T[K]) => string];
};

const SHOWN_CHARS = 200;

export function differences<T extends object>(before: T, after: T, words: Words<T>): Difference[] {
  return (Object.keys(words) as (keyof T)[]).flatMap((field) => {
    const [name, shown = text] = words[field] ?? [];
    const [was, is] = [before[field], after[field]];
    if (name === undefined || JSON.stringify(was) === JSON.stringify(is)) return [];
    return [{ name, before: shown(was), after: shown(is) }];
  });
}

function text(value: unknown): string {
  if (value === null || value === undefined || value === "") return t.nothing;
  if (typeof value === "boolean") return value ? t.yes : t.no;
  const whole = typeof value === "string" ? value : JSON.stringify(value);
  return whole.length > SHOWN_CHARS ? `${whole.slice(0, SHOWN_CHARS)}…` : whole;
}

/** One sentence, for what has no place for a list. */
export function changedWords(found: readonly Difference[]): string {
  return found.map((each) => t.changedFromTo(each.name, each.before, each.after)).join("; ");
}
