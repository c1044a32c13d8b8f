/** What the quiet line says of a lost worker, and what it unfolds to. Pure. */
import type { Takeover } from "@holdfast/client";
import { chatStrings } from "@/i18n/en/chat";
import { elapsed } from "@/lib/format";

export interface Detail {
  readonly key: string;
  readonly text: string;
}

/** Fates of calls that were not run twice, and whose outcome is known. */
const HARMLESS: ReadonlySet<string> = new Set(["joined", "not_started"]);
const MINUTE_S = 60;

/** `worker lost, continued after 8 s, nothing repeated` */
export function lostLine({ lost_workers, after_seconds: after_s, calls }: Takeover): string {
  const told = [chatStrings.lost.workers(lost_workers), chatStrings.lost.continued(span(after_s))];
  const repeated = calls
    .filter(({ fate }) => fate === "repeated")
    .map(({ tool_name: tool }) => tool);
  if (repeated.length > 0)
    told.push(chatStrings.lost.repeated(repeated.length, [...new Set(repeated)].join(", ")));
  const unknown = calls.filter(({ fate }) => fate === "unknown").length;
  if (unknown > 0) told.push(chatStrings.lost.unknown(unknown));
  // Only if it is true; a newer server may have more fates.
  if (calls.every(({ fate }) => HARMLESS.has(fate))) told.push(chatStrings.lost.nothing);
  return told.join(", ");
}

/** The attempts, and what became of each call. */
export function lostDetails({ attempt, lost_workers, kept, calls }: Takeover): Detail[] {
  const details = [{ key: "attempts", text: chatStrings.lost.attempts(attempt, lost_workers) }];
  if (calls.length === 0)
    details.push({ key: "words", text: kept ? chatStrings.lost.kept : chatStrings.lost.anew });
  for (const { call_id, tool_name: tool, fate } of calls)
    details.push({
      key: `call.${call_id}`,
      text: `${tool}: ${chatStrings.lost.fate[fate] ?? fate}`,
    });
  return details;
}

function span(seconds: number | null): string | null {
  if (seconds === null) return null;
  return seconds < MINUTE_S ? `${seconds} s` : elapsed(seconds * 1000);
}
