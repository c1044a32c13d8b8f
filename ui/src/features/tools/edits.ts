/**
 * What an edit changed, as diffs: from the result if it has them, else made from the arguments, so
 * that an edit can be seen before it happens (for an approval) and when its result is only a word.
 */
import { argument, type Call } from "./call";

export interface Edit {
  path: string;
  diff: string;
}

export function editsOf(call: Call): Edit[] {
  const told = toldBy(call.result?.output);
  return told.length > 0 ? told : askedBy(call);
}

function toldBy(output: unknown): Edit[] {
  if (typeof output === "string")
    return /^@@ -\d/m.test(output) ? [{ path: "", diff: output }] : [];
  const files = isObject(output) && Array.isArray(output.files) ? output.files : [output];
  return files.flatMap((file: unknown) =>
    isObject(file) && typeof file.diff === "string" && file.diff !== ""
      ? [{ path: typeof file.path === "string" ? file.path : "", diff: file.diff }]
      : [],
  );
}

function askedBy(call: Call): Edit[] {
  const text = call.arguments?.text;
  if (typeof text === "string")
    return [{ path: argument(call, "path"), diff: made([{ old: "", new: text }]) }];
  const files = Array.isArray(call.arguments?.files) ? call.arguments.files : [];
  return files.flatMap((file: unknown) => {
    if (!isObject(file) || !Array.isArray(file.changes)) return [];
    const changes = file.changes.flatMap((change: unknown) => (isChange(change) ? [change] : []));
    return [{ path: String(file.path ?? ""), diff: made(changes) }];
  });
}

interface Change {
  old: string;
  new: string;
}

/** A diff without context; where in the file it goes is not known here. */
function made(changes: readonly Change[]): string {
  return changes
    .map((change) => {
      const [before, after] = [linesOf(change.old), linesOf(change.new)];
      const lines = [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)];
      return [`@@ -1,${before.length} +1,${after.length} @@`, ...lines].join("\n");
    })
    .join("\n");
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isChange(value: unknown): value is Change {
  return isObject(value) && typeof value.old === "string" && typeof value.new === "string";
}
