/**
 * What the transcript's list is made of: rows of the log, taken apart into items of one kind each, so
 * that a long turn is virtual inside, too. Pure, and as lazy as it can be: an item whose input has
 * not changed is the same object as before.
 *
 * Keys hold from the first delta to the committed message (`m7.0` is part 0 of message 7), and the
 * foot of a turn is one item from «waiting» to its summary: nothing is mounted anew when a turn ends.
 *
 * Runs of steps fold: when a turn is over, all of a run; while it goes on, all but the last three.
 * While the reader looks further up, nothing that may be in sight is folded (`FrozenFolds`).
 */

import {
  type ActionRequired,
  type ChatError,
  type ChatState,
  type Message,
  type Retry,
  type Takeover,
  type ToolResultPart,
  textOf,
} from "@holdfast/client";
import type { LiveShape } from "@/engine/live-parts";
import type { Row, Sending, StepRow, TurnEnd } from "@/engine/rows";
import { type Call, isLive, NOTHING_EXACT, stateOf } from "@/features/tools/call";
import type { CitationMark } from "@/markdown/citations";
import { marksOf, type Source, sourcesOf } from "./sources";

export type Item =
  | OlderItem
  | UserItem
  | TextItem
  | ReasoningItem
  | ToolItem
  | RunItem
  | SourcesItem
  | BoundaryItem
  | LostItem
  | BreakItem
  | FootItem
  | SendingItem;

interface Common {
  key: string;
  /** The seq that began the turn. */
  turn: number;
}

interface OlderItem extends Common {
  kind: "older";
}

interface UserItem extends Common {
  kind: "user";
  message: Message;
}

interface TextItem extends Common {
  kind: "text";
  /** `null`: it is being said; the live source has it, under `index`. */
  text: string | null;
  index: number;
  /** Numbers of its sources. */
  marks?: readonly CitationMark[];
}

interface ReasoningItem extends Common {
  kind: "reasoning";
  text: string | null;
  index: number;
}

interface ToolItem extends Common {
  kind: "tool";
  call: Call;
  action: ActionRequired | null;
  index: number;
  /** Of a plan that the user has not answered yet. */
  isNewest?: true;
}

/** The head of a folded run of steps. */
export interface RunItem extends Common {
  kind: "run";
  calls: readonly Call[];
  /** How many of its items are not shown unless it is open. */
  hidden: number;
  isOpen: boolean;
}

interface SourcesItem extends Common {
  kind: "sources";
  sources: readonly Source[];
}

interface BoundaryItem extends Common {
  kind: "boundary";
  message: Message;
}

/** A worker was lost, and another one went on. */
interface LostItem extends Common {
  kind: "lost";
  takeover: Takeover;
}

/** A reply that did not come to its own end. */
export interface BreakItem extends Common {
  kind: "break";
  why: "interrupted" | "cut";
  /** Nothing has been said since. */
  isLast: boolean;
}

export type Foot =
  | { is: "over"; ends: TurnEnd; answer: string; regenerable: Regenerable | null }
  | { is: "going"; phase: Phase; what: Call | null; since: string | null }
  | { is: "retrying"; retry: Retry }
  | { is: "failed"; error: ChatError };

/** What a turn answered, if the same can be asked again: of the last turn, and words only. */
export interface Regenerable {
  seq: number;
  text: string;
  model: string | null;
}

type Phase = "waiting" | "thinking" | "writing" | "running" | "stopping" | "awaiting";

export interface FootItem extends Common {
  kind: "foot";
  foot: Foot;
  isLast: boolean;
}

interface SendingItem extends Common {
  kind: "sending";
  sending: Sending;
}

export interface TranscriptInput {
  rows: readonly Row[];
  older: number | null;
  live: readonly LiveShape[];
  status: ChatState | null;
  retry: Retry | null;
  error: ChatError | null;
  action: ActionRequired | null;
}

/** The part of the input that a `chat.state` has. */
export function stateInput(
  state: ChatState | null,
): Pick<TranscriptInput, "status" | "retry" | "error" | "action"> {
  return {
    status: state,
    retry: state?.retry ?? null,
    error: state?.error ?? null,
    action: state?.action_required ?? null,
  };
}

/** Whether a turn that "failed" waits for the user to let it go on, after many replies. */
export function isPause(error: ChatError): boolean {
  return error.type === "step_limit";
}

/** What was folded when somebody began to read: turns from `turn` on fold no further than this. */
export interface FrozenFolds {
  turn: number;
  hidden: ReadonlyMap<string, number>;
}

export interface Folding {
  open: Pick<ReadonlySet<string>, "has">;
  frozen: FrozenFolds | null;
}

const PROPOSE_PLAN = "propose_plan";
const SHOWN_WHILE_LIVE = 3;
const FOLDED_FROM = 3;

export function itemsOf(input: TranscriptInput, folding: Folding): Item[] {
  const items: Item[] = [];
  const { rows } = input;
  if (input.older !== null) items.push({ kind: "older", key: "older", turn: 0 });
  for (let at = 0; at < rows.length; ) {
    const end = turnEnd(rows, at);
    const turn = rows.slice(at, end);
    const isLast = end === rows.length || rows[end]?.kind === "sending";
    items.push(...turnItems(turn, isLast, input, folding));
    at = end;
  }
  return items;
}

function turnEnd(rows: readonly Row[], at: number): number {
  let end = at + 1;
  while (end < rows.length && rows[end]?.kind !== "user" && rows[end]?.kind !== "sending") end++;
  return end;
}

function turnItems(
  rows: readonly Row[],
  isLast: boolean,
  input: TranscriptInput,
  folding: Folding,
): Item[] {
  const turn = rows[0]?.turn ?? 0;
  const isGoing = isLast && isUnderWay(input);
  const isOpenPlan = isLast && !isGoing && input.status?.plan_mode === true;
  const items = rows
    .flatMap((row) => rowItems(row, isLast, isGoing, input))
    .map((item) => (isOpenPlan && isPlan(item) ? { ...item, isNewest: true as const } : item));
  const folded = fold(items, isGoing, folding);
  if (rows[0]?.kind === "sending") return folded;
  const broken = breakOf(rows, isLast, isGoing, input);
  if (broken !== null)
    folded.push({ kind: "break", key: `break.${turn}`, turn, why: broken, isLast });
  const foot = footOf(rows, items, isLast, input);
  if (foot !== null) folded.push({ kind: "foot", key: `foot.${turn}`, turn, foot, isLast });
  return folded;
}

function isUnderWay({ status, error }: TranscriptInput): boolean {
  return (
    error === null && status !== null && status.status !== "idle" && status.status !== "failed"
  );
}

// Steps whose calls all have results are taken apart once: the items follow from the row alone.
const finished = new WeakMap<Row, Item[]>();

function isFinished(row: StepRow, message: Message): boolean {
  return message.parts.every(
    (part) => part.type !== "tool_call" || Object.hasOwn(row.results, part.call_id),
  );
}

function rowItems(row: Row, isLast: boolean, isGoing: boolean, input: TranscriptInput): Item[] {
  const { key, turn } = row;
  switch (row.kind) {
    case "user":
      return [{ kind: "user", key, turn, message: row.message }];
    case "boundary":
      return [
        ...lostItems(row, 0, row.message.takeover),
        { kind: "boundary", key, turn, message: row.message },
      ];
    case "sending":
      return [{ kind: "sending", key, turn, sending: row.sending }];
    case "step": {
      if (row.message === null) return liveItems(row, input.live);
      const known = finished.get(row);
      if (known !== undefined) return known;
      const items = stepItems(row, row.message, isGoing, input.action);
      if (!isLast || isFinished(row, row.message)) finished.set(row, items);
      return items;
    }
  }
}

function lostItems({ key, turn }: Row, at: number, takeover?: Takeover | null): Item[] {
  return takeover == null ? [] : [{ kind: "lost", key: `${key}.lost.${at}`, turn, takeover }];
}

function liveItems({ key, turn }: StepRow, live: readonly LiveShape[]): Item[] {
  return live.map((part): Item => {
    const at = { key: `${key}.${part.index}`, turn, index: part.index };
    if (part.kind !== "tool_call") return { kind: part.kind, ...at, text: null };
    return { kind: "tool", ...at, call: writing(part), action: null };
  });
}

function writing({ callId, tool }: LiveShape): Call {
  return {
    id: callId,
    tool,
    arguments: null,
    exact: NOTHING_EXACT,
    source: "",
    needs: null,
    state: "writing",
    result: null,
    startedAt: null,
  };
}

function stepItems(
  row: StepRow,
  message: Message,
  isGoing: boolean,
  action: ActionRequired | null,
): Item[] {
  const own = lostItems(row, 0, message.takeover);
  const keepsWords = message.takeover?.kept === true; // the line stands above what is continued
  const items: Item[] = keepsWords ? [] : [...own];
  const { turn } = row;
  const sources = sourcesOf(message.parts);
  message.parts.forEach((part, index) => {
    const at = { key: `${row.key}.${index}`, turn, index };
    if (part.type === "text" && part.text.trim() !== "")
      items.push({ kind: "text", ...at, text: part.text, marks: marksOf(part, sources) });
    if (part.type === "reasoning" && part.text.trim() !== "") {
      items.push({ kind: "reasoning", ...at, text: part.text });
    }
    if (part.type === "tool_call") {
      const result = row.results[part.call_id] ?? null;
      const state = stateOf(part.call_id, result, action, !isGoing);
      const call: Call = {
        id: part.call_id,
        tool: part.tool_name,
        arguments: part.arguments,
        exact: part.exact_arguments ?? NOTHING_EXACT,
        source: "",
        needs: part.action_required,
        state,
        result,
        startedAt: message.created_at,
      };
      items.push({ kind: "tool", ...at, call, action: state === "awaiting" ? action : null });
    }
  });
  if (sources.length > 0) items.push({ kind: "sources", key: `${row.key}.sources`, turn, sources });
  if (keepsWords) items.push(...own);
  row.lost.forEach((takeover, at) => void items.push(...lostItems(row, at + 1, takeover)));
  return items;
}

/** Runs of steps: tool calls and the thoughts between them, with nothing said in between. */
function fold(items: readonly Item[], isGoing: boolean, folding: Folding): Item[] {
  const shown: Item[] = [];
  for (let at = 0; at < items.length; ) {
    let end = at;
    while (isStep(items[end])) end++;
    if (end === at) {
      shown.push(items[at++] as Item);
      continue;
    }
    shown.push(...foldRun(items.slice(at, end), isGoing, folding));
    at = end;
  }
  return shown;
}

/** A plan that was shown: it is what the turn came to, and no step on the way. */
function isPlan(item: Item): item is ToolItem {
  return item.kind === "tool" && item.call.tool === PROPOSE_PLAN && item.call.state === "done";
}

function isStep(item: Item | undefined): boolean {
  return (item?.kind === "tool" && !isPlan(item)) || item?.kind === "reasoning";
}

function foldRun(
  run: readonly Item[],
  isGoing: boolean,
  { open, frozen }: Folding,
): readonly Item[] {
  const calls = run.flatMap((item) => (item.kind === "tool" ? [item.call] : []));
  const first = run[0] as Item;
  const key = `run.${first.key}`;
  let hidden = hideable(run, calls.length, isGoing);
  if (frozen !== null && first.turn >= frozen.turn)
    hidden = Math.min(hidden, frozen.hidden.get(key) ?? 0);
  if (hidden === 0) return run;
  const isOpen = open.has(key);
  const head: RunItem = { kind: "run", key, turn: first.turn, calls, hidden, isOpen };
  return [head, ...(isOpen ? run : run.slice(hidden))];
}

function hideable(run: readonly Item[], calls: number, isGoing: boolean): number {
  if (!isGoing) return calls >= FOLDED_FROM ? run.length : 0;
  const busy = run.findIndex((item) => item.kind === "tool" && isLive(item.call.state));
  const settled = busy < 0 ? run.length : busy;
  // One hidden row behind a head of the same height would only hide.
  const hidden = Math.min(run.length - SHOWN_WHILE_LIVE, settled);
  return hidden >= 2 ? hidden : 0;
}

/** What is folded now, to be frozen while the reader looks back. */
export function freezeFolds(items: readonly Item[]): FrozenFolds {
  const hidden = new Map<string, number>();
  for (const item of items) if (item.kind === "run") hidden.set(item.key, item.hidden);
  return { turn: items.at(-1)?.turn ?? 0, hidden };
}

function endsTurn({ tool_name: tool, is_error: isError }: ToolResultPart): boolean {
  return tool === PROPOSE_PLAN && !isError;
}

function breakOf(
  rows: readonly Row[],
  isLast: boolean,
  isGoing: boolean,
  input: TranscriptInput,
): BreakItem["why"] | null {
  const last = rows.at(-1);
  // The turn is over, without an error: the user stopped it before the next reply had a word.
  const wasStopped = isLast && input.status?.status === "idle" && input.error === null;
  if (last?.kind === "user") return wasStopped ? "interrupted" : null;
  if (isGoing || last?.kind !== "step" || last.message === null) return null;
  const reason = last.message.finish_reason;
  if (reason === "interrupted") return reason;
  if (reason === "length" || reason === "provider_error") return "cut";
  // The model is asked again with the results of its calls, unless it was stopped, or showed a plan.
  if (Object.values(last.results).some(endsTurn)) return null;
  if (wasStopped && Object.keys(last.results).length > 0) return "interrupted";
  const isCancelled = Object.values(last.results).some(
    (result) => result.synthetic_reason === "interrupted",
  );
  return isCancelled ? "interrupted" : null;
}

function footOf(
  rows: readonly Row[],
  items: readonly Item[],
  isLast: boolean,
  input: TranscriptInput,
): Foot | null {
  const last = rows.at(-1);
  if (isLast && input.error !== null) return { is: "failed", error: input.error };
  if (isLast && input.retry !== null) return { is: "retrying", retry: input.retry };
  if (isLast && isUnderWay(input)) return going(rows, items, input);
  if (last?.kind === "step" && last.ends !== null) {
    const regenerable = isLast ? regenerableOf(rows[0]) : null;
    return { is: "over", ends: last.ends, answer: answerOf(rows), regenerable };
  }
  return null;
}

function going(rows: readonly Row[], items: readonly Item[], input: TranscriptInput): Foot {
  const open = items.find((item) => item.kind === "tool" && isLive(item.call.state));
  const what = open?.kind === "tool" ? open.call : null;
  return { is: "going", phase: phaseOf(what, input), what, since: lastMoment(rows) };
}

function phaseOf(open: Call | null, { status, live }: TranscriptInput): Phase {
  if (status?.status === "interrupting") return "stopping";
  if (status?.status === "awaiting") return "awaiting";
  if (open?.state === "running") return "running";
  const last = live.at(-1);
  if (last !== undefined) return last.kind === "reasoning" ? "thinking" : "writing";
  return status?.attempt === 0 ? "waiting" : "thinking";
}

function lastMoment(rows: readonly Row[]): string | null {
  const last = rows.findLast((row) => "message" in row && row.message !== null);
  return last !== undefined && "message" in last ? (last.message?.created_at ?? null) : null;
}

function regenerableOf(first: Row | undefined): Regenerable | null {
  if (first?.kind !== "user" || first.message.parts.some((part) => part.type !== "text"))
    return null;
  const { seq, parts, model } = first.message;
  return { seq, text: textOf(parts), model };
}

/** All that was said in a turn, to be copied. */
function answerOf(rows: readonly Row[]): string {
  const texts = rows.flatMap((row) =>
    row.kind !== "step" || row.message === null
      ? []
      : row.message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  return texts.join("\n\n");
}

/** The items before, wherever one of the new ones says the same: `memo` goes by identity. */
export function settled(before: readonly Item[], after: Item[]): Item[] {
  const known = new Map(before.map((item) => [item.key, item]));
  let isSame = before.length === after.length;
  const items = after.map((item, at) => {
    const old = known.get(item.key);
    const kept = old !== undefined && isAlike(old, item) ? old : item;
    isSame &&= before[at] === kept;
    return kept;
  });
  return isSame ? (before as Item[]) : items;
}

function isAlike(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (depth > 3 || typeof one !== "object" || typeof other !== "object") return false;
  if (one === null || other === null) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) =>
    isAlike(
      (one as Record<string, unknown>)[name],
      (other as Record<string, unknown>)[name],
      depth + 1,
    ),
  );
}
