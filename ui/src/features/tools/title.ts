/** Helpers for the titles of tools. */
import { type ToolStrings, toolStrings, type Verbs } from "@/i18n/en/tools";
import { firstLine } from "@/lib/format";
import { argument, type Call, partial, shownArgument } from "./call";
import type { ToolTitle } from "./registry";

/** A call that did not happen, or only perhaps, is not described as if it had. */
export function verbFor({ state, result }: Call, verbs: Verbs): string {
  if (state === "writing" || state === "running") return verbs.running;
  if (state === "awaiting") return verbs.wants;
  const isUndone = state === "denied" || state === "not run" || state === "unknown";
  return isUndone || result?.synthetic_reason === "expired" ? verbs.wanted : verbs.done;
}

/** A title whose object is the first of these arguments that is not empty. */
export function titleWith(
  verbs: keyof ToolStrings["verbs"],
  ...names: readonly string[]
): (call: Call, t: ToolStrings) => ToolTitle {
  return (call, t) => ({
    verb: verbFor(call, t.verbs[verbs]),
    object: firstLine(names.map((name) => argument(call, name)).find((text) => text !== "") ?? ""),
  });
}

/** The title of a tool that has no renderer: its name, and its first argument. */
export function genericTitle(call: Call, t: ToolStrings = toolStrings): ToolTitle {
  const first = firstArgument(call);
  return {
    verb: verbFor(call, t.verbs.other),
    object: first === "" ? call.tool : t.toolWithArgument(call.tool, first),
  };
}

const FIRST_NAME = /^\s*\{\s*("(?:[^"\\]|\\.)*")\s*:/s;

/** The first argument that fits in a line: a text, number or yes and no; else JSON of the first. */
function firstArgument(call: Call): string {
  if (call.arguments === null) return firstLine(partial(call.source, firstName(call.source)));
  const entries = Object.entries(call.arguments);
  const [name, value] =
    entries.find(([, each]) => each !== null && each !== "" && typeof each !== "object") ??
    entries[0] ??
    [];
  if (name === undefined || value === null || value === "") return "";
  if (typeof value === "object") return firstLine(JSON.stringify(value));
  return firstLine(shownArgument(name, value, call.exact));
}

function firstName(source: string): string {
  const written = FIRST_NAME.exec(source)?.[1];
  if (written === undefined) return "";
  try {
    return JSON.parse(written);
  } catch {
    return "";
  }
}
