/**
 * What an edit changed, as diffs: from the result if it has them, else made from the arguments, so
 * that an edit can be seen before it happens (for an approval) and when its result is only a word.
 */
import { argument, type Call } from "./call";

export interface Edit {
  path: string;
  diff: string;
  /** Where the file is moved to; null: it is deleted. */
  becomes?: string | null;
}

export function editsOf(call: Call): Edit[] {
  const diff = call.result?.diff;
  const asked = askedBy(call);
  if (!diff) return asked;
  const gone = asked.filter((edit) => edit.becomes !== undefined);
  return [...gone.map((edit) => ({ ...edit, diff: "" })), { path: argument(call, "path"), diff }];
}

function askedBy(call: Call): Edit[] {
  const path = argument(call, "path");
  const { content, edits, patch } = call.arguments ?? {};
  if (typeof content === "string") return [{ path, diff: made([{ old: "", new: content }]) }];
  if (typeof patch === "string") return patched(patch);
  if (!Array.isArray(edits)) return [];
  return [{ path, diff: made(edits.flatMap((edit: unknown) => changeOf(edit))) }];
}

interface Change {
  old: string;
  new: string;
}

/** A diff without context; where in the file it goes is not known here. */
function made(changes: readonly Change[]): string {
  return changes
    .map((change) =>
      hunk([
        ...linesOf(change.old).map((line) => `-${line}`),
        ...linesOf(change.new).map((line) => `+${line}`),
      ]),
    )
    .join("\n");
}

function hunk(lines: readonly string[]): string {
  const before = lines.filter((line) => !line.startsWith("+")).length;
  const after = lines.filter((line) => !line.startsWith("-")).length;
  return [`@@ -1,${before} +1,${after} @@`, ...lines].join("\n");
}

/** The files of a patch between `*** Begin Patch` and `*** End Patch`. */
function patched(patch: string): Edit[] {
  const files: { path: string; becomes?: string | null; hunks: string[][] }[] = [];
  for (const line of patch.split("\n")) {
    const head = /^\*\*\* (Add File|Update File|Delete File|Move to):(.+)$/.exec(line);
    const path = (head?.[2] ?? "").trim();
    const last = files.at(-1);
    if (head?.[1] === "Move to" && last !== undefined) last.becomes = path;
    else if (head?.[1] === "Delete File") files.push({ path, becomes: null, hunks: [[]] });
    else if (head !== null) files.push({ path, hunks: [[]] });
    else if (line.startsWith("@@")) files.at(-1)?.hunks.push([]);
    else if (/^[-+ ]/.test(line)) files.at(-1)?.hunks.at(-1)?.push(line);
  }
  return files.map(({ hunks, ...file }) => ({
    ...file,
    diff: hunks.flatMap((lines) => (lines.length > 0 ? [hunk(lines)] : [])).join("\n"),
  }));
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function changeOf(edit: unknown): Change[] {
  if (typeof edit !== "object" || edit === null) return [];
  const { old_string: before, new_string: after } = edit as Record<string, unknown>;
  return typeof before === "string" && typeof after === "string"
    ? [{ old: before, new: after }]
    : [];
}
