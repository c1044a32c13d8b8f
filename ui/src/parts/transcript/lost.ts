/** What the quiet line says of a lost worker, and what it unfolds to. Pure. */
import type { Takeover } from "@/log/types";
import { words } from "@/words";
import { elapsed } from "../format";

export interface Detail {
  readonly key: string;
  readonly text: string;
}

/** Fates of calls that were not run twice, and whose outcome is known. */
const HARMLESS: ReadonlySet<string> = new Set(["joined", "not_started"]);
const MINUTE_S = 60;

/** `worker lost, continued after 8 s, nothing repeated` */
export function lostLine({ lost_workers, after_s, calls }: Takeover): string {
  const told = [words.lost.workers(lost_workers), words.lost.continued(span(after_s))];
  const repeated = calls.filter(({ fate }) => fate === "repeated").map(({ tool }) => tool);
  if (repeated.length > 0)
    told.push(words.lost.repeated(repeated.length, [...new Set(repeated)].join(", ")));
  const unknown = calls.filter(({ fate }) => fate === "unknown").length;
  if (unknown > 0) told.push(words.lost.unknown(unknown));
  // Only if it is true; a newer server may have more fates.
  if (calls.every(({ fate }) => HARMLESS.has(fate))) told.push(words.lost.nothing);
  return told.join(", ");
}

/** The attempts, and what became of each call. */
export function lostDetails({ attempt, lost_workers, kept, calls }: Takeover): Detail[] {
  const details = [{ key: "attempts", text: words.lost.attempts(attempt, lost_workers) }];
  if (calls.length === 0)
    details.push({ key: "words", text: kept ? words.lost.kept : words.lost.anew });
  for (const { call_id, tool, fate } of calls)
    details.push({ key: `call.${call_id}`, text: `${tool}: ${words.lost.fate[fate] ?? fate}` });
  return details;
}

function span(seconds: number | null): string | null {
  if (seconds === null) return null;
  return seconds < MINUTE_S ? `${seconds} s` : elapsed(seconds * 1000);
}
