/**
 * Tool calls in plain words: "Ran `pytest -q`, failed, exit 1". The words are the accessible name of
 * the card's header and what the status region announces; the icons beside them are decoration.
 */
import { toolStrings as t } from "@/i18n/en/tools";
import { elapsed } from "@/lib/format";
import { argument, type Call, type CallState } from "./call";
import type { ToolTitle } from "./registry";
import { rendererOf, tallies } from "./renderers";

const UNDONE: ReadonlySet<CallState> = new Set([
  "denied",
  "not run",
  "timed out",
  "cancelled",
  "unknown",
  "failed",
]);

export function headline(call: Call): ToolTitle {
  return rendererOf(call.tool).title(call, t);
}

export function stateWord(state: CallState): string {
  return t.states[state];
}

const SHOWN_MS = 50;

/** What stands at the right of the header: nothing if all is well and there is nothing to add. */
export function aside(call: Call): string[] {
  const words: string[] = [];
  if (UNDONE.has(call.state) || call.state === "awaiting") words.push(t.states[call.state]);
  if (call.result === null) return words;
  const { exit_code: exitCode, signal, process_id: process, duration_ms: took } = call.result;
  if (signal !== null) words.push(signal);
  else if (exitCode !== null && exitCode !== 0) words.push(t.exit(exitCode));
  else if (process !== null && process !== argument(call, "process"))
    words.push(t.inBackground(process));
  if (took !== null && took >= SHOWN_MS) words.push(elapsed(took));
  return words;
}

/** The whole card in one sentence, for screen readers. */
export function sentence(call: Call): string {
  const { verb, object } = headline(call);
  const said = [`${verb}${object === "" ? "" : ` ${object}`}`, ...aside(call)];
  if (call.state === "done" || call.state === "running") said.push(t.states[call.state]);
  return said.join(", ");
}

/** `12 steps · 4 files read, 6 commands, 2 edits · 48 s`, piece by piece. */
export function tally(calls: readonly Call[], durationMs: number): string[] {
  const counts = new Map<string, number>();
  for (const call of calls) {
    const { kind } = rendererOf(call.tool).tally;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const kinds = tallies().flatMap(({ kind, label }) => {
    const count = counts.get(kind);
    return count === undefined ? [] : [label(count, t)];
  });
  const bad = calls.filter((call) => UNDONE.has(call.state)).length;
  const failed = calls.filter((call) => call.state === "failed").length;
  const pieces = [t.tally.steps(calls.length), kinds.join(", ")];
  if (failed > 0) pieces.push(t.tally.failed(failed));
  if (bad > failed) pieces.push(t.tally.notDone(bad - failed));
  if (durationMs >= 1000) pieces.push(elapsed(durationMs));
  return pieces;
}
