/**
 * What a result says, whatever its form. Our own tools answer in text for the model, with a first line
 * that says how it stands (holdfast.tools.workspace.texts); others may answer in fields.
 */
import type { ToolResultPart } from "@/log/types";

export interface Outcome {
  /** The output itself, without the line that says how it stands. */
  text: string;
  exitCode: number | null;
  signal: string | null;
  /** It was left running: `p3`. */
  process: string | null;
  /** How long it took, in words: `3.2 s`. */
  took: string | null;
}

const NOTHING: Outcome = { text: "", exitCode: null, signal: null, process: null, took: null };
const COMMANDS: ReadonlySet<string> = new Set(["execute", "process_output"]);

export function readResult(result: Pick<ToolResultPart, "tool" | "output"> | null): Outcome {
  const output = result?.output;
  if (output === undefined || output === null) return NOTHING;
  if (typeof output === "string") {
    return COMMANDS.has(result?.tool ?? "") ? readCommand(output) : { ...NOTHING, text: output };
  }
  if (typeof output !== "object" || Array.isArray(output))
    return { ...NOTHING, text: pretty(output) };
  return readFields(output as Readonly<Record<string, unknown>>);
}

const ENDED =
  /^(?:\w+: )?(?:exit code (?<code>-?\d+)|ended by signal (?<signal>\w+))(?: after (?<took>[\d.]+ \w+))?(?: \([^\n]*\))?(?:, no output)?(?:\n|$)/;
const RUNNING =
  /^(?:still running after [^\n]*?|started in the background) as process (?<process>\w+)[^\n]*(?:\n|$)/;

function readCommand(output: string): Outcome {
  const ended = ENDED.exec(output);
  if (ended !== null) {
    const { code, signal, took } = ended.groups ?? {};
    const text = output.slice(ended[0].length);
    const exitCode = code === undefined ? null : Number(code);
    return { ...NOTHING, text, exitCode, signal: signal ?? null, took: took ?? null };
  }
  const running = RUNNING.exec(output);
  if (running === null) return { ...NOTHING, text: output };
  return {
    ...NOTHING,
    text: output.slice(running[0].length),
    process: running.groups?.process ?? null,
  };
}

function readFields(fields: Readonly<Record<string, unknown>>): Outcome {
  const named = ["output", "text", "stdout", "message", "error"].map((name) => fields[name]);
  const { exit_code: code, signal, process } = fields;
  return {
    text: named.find((value) => typeof value === "string") ?? pretty(fields),
    exitCode: typeof code === "number" ? code : null,
    signal: typeof signal === "string" ? signal : null,
    process: typeof process === "string" && typeof code !== "number" ? process : null,
    took: null,
  };
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

export interface FileText {
  text: string;
  firstLine: number;
  /** What is said about the rest: more lines, or none at all. */
  note: string;
}

const LINES = /^[^\n]*: (?:lines (?<first>\d+) to (?<last>\d+) of (?<total>\d+)|empty)(?:\n|$)/;
const MORE = /\n\[more: [^\n]*\]$/;

/** A file that was read, as `read_file` tells it. */
export function readLines(output: string): FileText {
  const head = LINES.exec(output);
  if (head === null) return { text: output, firstLine: 1, note: "" };
  const { first = "1", last, total } = head.groups ?? {};
  const text = output.slice(head[0].length).replace(MORE, "");
  const isPart = total !== undefined && !(first === "1" && last === total);
  return {
    text,
    firstLine: Number(first),
    note: isPart ? `Lines ${first} to ${last} of ${total}` : "",
  };
}
