/**
 * A tool call as the transcript shows it: what was asked, what came of it, where it stands.
 *
 * The state is derived from what the server said and from nothing else; nothing is guessed.
 */

import type { ActionRequired, ToolCallPart, ToolResultPart } from "@holdfast/client";
import { pretty } from "./results";

export type CallState =
  | "writing" // its arguments are still being said
  | "awaiting" // somebody outside has to decide or answer
  | "running"
  | "done"
  | "failed"
  | "denied"
  | "cancelled"
  | "timed out"
  | "not run"
  | "unknown";

export interface Call {
  id: string;
  tool: string;
  /** `null` while they are not whole. */
  arguments: Arguments | null;
  exact: ExactArguments;
  /** As they are being written; empty once they are whole. */
  source: string;
  needs: ToolCallPart["action_required"];
  state: CallState;
  result: ToolResultPart | null;
  startedAt: string | null;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The server's own text of arguments with a number that JavaScript would show as another one. */
export type ExactArguments = Readonly<Record<string, string>>;

export const NOTHING_EXACT: ExactArguments = {};

/** An argument as a person decides about it: what is shown is what runs. */
export function shownArgument(name: string, value: unknown, exact: ExactArguments): string {
  if (Object.hasOwn(exact, name)) return exact[name] as string;
  return typeof value === "string" ? value : pretty(value);
}

/** Where a call of a committed message stands. `isOver`: its turn has ended. */
export function stateOf(
  callId: string,
  result: ToolResultPart | null,
  action: ActionRequired | null,
  isOver: boolean,
): CallState {
  if (result !== null) return outcomeOf(result);
  if (action?.calls.some((call) => call.call_id === callId)) return "awaiting";
  return isOver ? "unknown" : "running";
}

const SYNTHETIC: Readonly<Record<string, CallState>> = {
  interrupted: "cancelled",
  superseded: "cancelled",
  denied: "denied",
  expired: "timed out",
  cut_off: "not run",
  unknown_outcome: "unknown",
};

function outcomeOf(result: ToolResultPart): CallState {
  if (result.synthetic_reason !== null) return SYNTHETIC[result.synthetic_reason] ?? "failed";
  if (result.timed_out) return "timed out";
  if (result.is_error) return "failed";
  return (result.exit_code ?? 0) === 0 && result.signal === null ? "done" : "failed";
}

export function isLive(state: CallState): boolean {
  return state === "writing" || state === "running" || state === "awaiting";
}

export function argument(call: Call, name: string): string {
  const value = call.arguments === null ? partial(call.source, name) : call.arguments[name];
  return typeof value === "string" ? value : "";
}

/** A string of JSON that is still being written, as far as it goes. */
export function partial(source: string, name: string): string {
  const key = JSON.stringify(name).replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  const match = new RegExp(`${key}\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`, "s").exec(source);
  // An escape that was cut in the middle is left out: it is whole with the next delta.
  const written = (match?.[1] ?? "").replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "");
  try {
    return JSON.parse(`"${written}"`);
  } catch {
    return written;
  }
}
