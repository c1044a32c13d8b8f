/** Colours for code, when they are there: the highlighter is fetched at first use. */
import { useEffect, useState } from "react";
import { onFrame } from "@/lib/frame";
import { part } from "@/lib/lazy-import";
import type { Token } from "./highlight";
import { aliasOf } from "./languages";

type Lines = readonly (readonly Token[])[];

/** More than this is read in plain: colours would cost more than they give. */
const COLOURED_CHARACTERS_MAX = 100_000;
const KEPT_MAX = 200;
const kept = new Map<string, Lines>();

/** `null` code: not yet. `null` result: not yet, or never. */
export function useTokens(code: string | null, language: string): Lines | null {
  const grammar = aliasOf(language);
  const wanted = code !== null && grammar !== null && code.length <= COLOURED_CHARACTERS_MAX;
  const key = wanted ? `${grammar}\n${code}` : null;
  const [, drawAgain] = useState(0);
  useEffect(() => {
    if (key === null || code === null || grammar === null || kept.has(key)) return;
    let isHere = true;
    void part(() => import("./highlight"))
      .then(({ tokenize }) => tokenize(code, grammar))
      .then((lines) => {
        keep(key, lines);
        onFrame(() => isHere && drawAgain((n) => n + 1)); // together with what is said meanwhile
      })
      .catch(() => {}); // in plain, then
    return () => {
      isHere = false;
    };
  }, [key, code, grammar]);
  return key === null ? null : (kept.get(key) ?? null);
}

function keep(key: string, lines: Lines): void {
  kept.set(key, lines);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
}
