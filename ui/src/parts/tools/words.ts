/**
 * Tool calls in plain words: «Ran `pytest -q`, failed, exit 1». The words are the accessible name of
 * the card's header and what the status region says; the glyphs beside them are decoration.
 */

import { elapsed, firstLine, plural } from "../format";
import { argument, type Call, type CallState } from "./call";
import { readResult } from "./results";

export type Family = "command" | "process" | "read" | "edit" | "search" | "workspace" | "other";

const FAMILIES: Readonly<Record<string, Family>> = {
  execute: "command",
  process_output: "process",
  process_input: "process",
  process_list: "process",
  process_signal: "process",
  read_file: "read",
  read_skill: "read",
  list_files: "search",
  find_files: "search",
  search_files: "search",
  write_file: "edit",
  edit_files: "edit",
  create_workspace: "workspace",
  start_workspace: "workspace",
  stop_workspace: "workspace",
};

export function familyOf(tool: string): Family {
  return FAMILIES[tool] ?? "other";
}

/** [while it runs, once it is done, before it may] */
const VERBS: Readonly<Record<string, readonly [string, string, string]>> = {
  execute: ["Running", "Ran", "Wants to run"],
  process_output: ["Looking at", "Looked at", "Wants to look at"],
  process_input: ["Typing into", "Typed into", "Wants to type into"],
  process_list: ["Listing processes", "Listed processes", "Wants to list processes"],
  process_signal: ["Signalling", "Signalled", "Wants to signal"],
  read_file: ["Reading", "Read", "Wants to read"],
  read_skill: ["Reading skill", "Read skill", "Wants to read skill"],
  list_files: ["Listing", "Listed", "Wants to list"],
  find_files: ["Finding", "Found", "Wants to find"],
  search_files: ["Searching for", "Searched for", "Wants to search for"],
  write_file: ["Writing", "Wrote", "Wants to write"],
  edit_files: ["Editing", "Edited", "Wants to edit"],
  create_workspace: ["Creating a workspace", "Created a workspace", "Wants to create a workspace"],
  start_workspace: [
    "Starting the workspace",
    "Started the workspace",
    "Wants to start the workspace",
  ],
  stop_workspace: [
    "Stopping the workspace",
    "Stopped the workspace",
    "Wants to stop the workspace",
  ],
};

const OTHER = ["Using", "Used", "Wants to use"] as const;
const UNDONE: ReadonlySet<CallState> = new Set([
  "denied",
  "not run",
  "timed out",
  "cancelled",
  "unknown",
  "failed",
]);

export interface Headline {
  verb: string;
  /** What it is done to; shown in the code font. */
  object: string;
}

export function headline(call: Call): Headline {
  const [doing, done, wanted] = VERBS[call.tool] ?? OTHER;
  return { verb: verbFor(call, doing, done, wanted), object: objectOf(call) };
}

/** What did not happen, or only perhaps, is not told as if it had. */
function verbFor(call: Call, doing: string, done: string, wanted: string): string {
  const { state, result } = call;
  if (state === "writing" || state === "running") return doing;
  if (state === "awaiting") return wanted;
  const isUndone = state === "denied" || state === "not run" || state === "unknown";
  return isUndone || result?.synthetic === "expired" ? wanted.replace("Wants", "Wanted") : done;
}

function objectOf(call: Call): string {
  switch (familyOf(call.tool)) {
    case "command":
      return firstLine(argument(call, "command"));
    case "process":
      return argument(call, "process");
    case "read":
      return argument(call, "path") || argument(call, "name");
    case "edit":
      return argument(call, "path") || editedPaths(call);
    case "search":
      return argument(call, "pattern") || argument(call, "path") || ".";
    case "workspace":
      return "";
    case "other":
      return call.tool;
  }
}

function editedPaths(call: Call): string {
  const files = call.arguments?.files;
  if (!Array.isArray(files)) return argument(call, "path");
  const paths = files
    .map((file) => (file as { path?: unknown } | null)?.path)
    .filter((path) => typeof path === "string");
  return paths.length <= 1
    ? String(paths[0] ?? "")
    : `${paths[0]} and ${plural(paths.length - 1, "other file")}`;
}

const STATE_WORDS: Readonly<Record<CallState, string>> = {
  writing: "being written",
  awaiting: "needs your input",
  running: "running",
  done: "done",
  failed: "failed",
  denied: "denied",
  cancelled: "cancelled",
  "timed out": "timed out",
  "not run": "not run",
  unknown: "outcome unknown",
};

export function stateWord(state: CallState): string {
  return STATE_WORDS[state];
}

/** What stands at the right of the header: nothing if all is well and there is nothing to add. */
export function aside(call: Call): string[] {
  const words: string[] = [];
  if (UNDONE.has(call.state) || call.state === "awaiting") words.push(STATE_WORDS[call.state]);
  const { exitCode, signal, process, took } = readResult(call.result);
  if (signal !== null) words.push(signal);
  else if (exitCode !== null && exitCode !== 0) words.push(`exit ${exitCode}`);
  else if (process !== null && familyOf(call.tool) === "command")
    words.push(`running in background (${process})`);
  if (took !== null && took !== "0.0 s") words.push(took);
  return words;
}

/** The whole card in one sentence, for whoever cannot see it. */
export function sentence(call: Call): string {
  const { verb, object } = headline(call);
  const said = [`${verb}${object === "" ? "" : ` ${object}`}`, ...aside(call)];
  if (call.state === "done" || call.state === "running") said.push(STATE_WORDS[call.state]);
  return said.join(", ");
}

const TALLY: readonly (readonly [Family, string, string?])[] = [
  ["read", "file read", "files read"],
  ["search", "search", "searches"],
  ["command", "command"],
  ["process", "look at a process", "looks at processes"],
  ["edit", "edit"],
  ["workspace", "workspace step"],
  ["other", "other"],
];

/** `12 steps · 4 files read, 6 commands, 2 edits · 48 s`, piece by piece. */
export function tally(calls: readonly Call[], durationMs: number): string[] {
  const kinds = TALLY.flatMap(([family, one, many]) => {
    const n = calls.filter((call) => familyOf(call.tool) === family).length;
    if (n === 0) return [];
    return [family === "other" ? `${n} other` : plural(n, one, many)];
  });
  const bad = calls.filter((call) => UNDONE.has(call.state)).length;
  const pieces = [plural(calls.length, "step"), kinds.join(", ")];
  const failed = calls.filter((call) => call.state === "failed").length;
  if (failed > 0) pieces.push(`${failed} failed`);
  if (bad > failed) pieces.push(`${bad - failed} not done`);
  if (durationMs >= 1000) pieces.push(elapsed(durationMs));
  return pieces;
}
