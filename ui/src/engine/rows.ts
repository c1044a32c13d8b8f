/**
 * The rows of a transcript, from the messages of a view.
 *
 * A row's key is the seq of its message. The row of what is being said now has the key of the
 * message that it becomes, so that nothing is mounted anew when it is committed. Results of tools
 * are no rows: they belong to the row whose calls they answer. A row whose message and results have
 * not changed is the same object as before, so that `memo` can tell.
 */

import type { ChatView, Message, Status, Takeover, ToolResultPart } from "@holdfast/client";
import type { Effort } from "@/api/queries/models";

/** Something that was said by a person. */
interface UserRow {
  readonly kind: "user";
  readonly key: string;
  readonly seq: number;
  /** The seq of the message that began the turn. */
  readonly turn: number;
  readonly message: Message;
}

/** A reply of the model, with what its calls led to; without a message, it is being said now. */
export interface StepRow {
  readonly kind: "step";
  readonly key: string;
  readonly seq: number;
  readonly turn: number;
  readonly message: Message | null;
  readonly results: Readonly<Record<string, ToolResultPart>>;
  /** Workers that were lost while its calls were open. */
  readonly lost: readonly Takeover[];
  /** The last row of a turn that is over. */
  readonly ends: TurnEnd | null;
}

/** What is before this was summarised for the model; it is still there to be read. */
interface BoundaryRow {
  readonly kind: "boundary";
  readonly key: string;
  readonly seq: number;
  readonly turn: number;
  readonly message: Message;
}

/** What was sent from here and is not yet known to have arrived. */
interface SendingRow {
  readonly kind: "sending";
  readonly key: string;
  readonly seq: number;
  readonly turn: number;
  readonly sending: Sending;
}

export type Row = UserRow | StepRow | BoundaryRow | SendingRow;

export interface TurnEnd {
  readonly steps: number;
  readonly calls: number;
  readonly model: string | null;
  readonly usage: Readonly<Record<string, number>>;
  readonly costMicros: number | null;
  readonly startedAt: string | null;
  readonly endedAt: string;
}

/** A message on its way; `clientKey` makes a repeat of it harmless. */
export interface Sending {
  readonly effort?: Effort | null;
  readonly web?: boolean | null;
  readonly planMode?: boolean | null;
  readonly clientKey: string;
  readonly text: string;
  readonly model: string | null;
  /** `waiting`: the server does not answer; it is sent by itself once it does. */
  readonly state: "sending" | "waiting" | "failed";
  /** Why it failed, for people. */
  readonly why: string | null;
  readonly at: number;
}

const BUSY: ReadonlySet<Status> = new Set(["running", "interrupting"]);

export function isBusy(status: Status | undefined): boolean {
  return status !== undefined && BUSY.has(status);
}

interface Known {
  readonly tools: readonly Message[];
  readonly turn: number;
  readonly over: boolean;
  readonly row: Row;
}

/** Where in the messages a row begins and ends, and the turn that it belongs to. */
interface Place {
  readonly at: number;
  readonly end: number;
  readonly turn: number;
  readonly turnAt: number;
  readonly over: boolean;
}

/** Makes rows and remembers them; one per open chat. */
export class Rows {
  private readonly known = new WeakMap<Message, Known>();

  of(view: ChatView, sending: readonly Sending[]): Row[] {
    const rows: Row[] = [];
    const { messages } = view;
    const busy = isBusy(view.state?.status) || view.state?.status === "awaiting";
    let turn = messages[0]?.seq ?? 0;
    let turnAt = 0; // where in `messages` the turn begins
    for (let at = 0; at < messages.length; at++) {
      const message = messages[at] as Message;
      if (message.role === "tool") continue; // shown with the call
      if (message.role === "user") {
        turn = message.seq;
        turnAt = at;
      }
      const end = withTools(messages, at);
      const last = end === messages.length;
      const over = message.role === "assistant" && (last ? !busy : messages[end]?.role === "user");
      rows.push(this.row(messages, { at, end, turn, turnAt, over }));
    }
    const next = (messages.at(-1)?.seq ?? 0) + 1;
    const busyNow = isBusy(view.state?.status);
    if (busyNow) rows.push(this.live(next, turn));
    // Of what is sent to a busy chat, the queue tells; what never got there must not vanish.
    const shown = busyNow ? sending.filter((each) => each.state === "failed") : sending;
    shown.forEach((each, n) => void rows.push(sendingRow(each, next + n + Number(busyNow))));
    return rows;
  }

  private liveRow: StepRow | null = null;

  private live(seq: number, turn: number): StepRow {
    if (this.liveRow?.seq !== seq || this.liveRow.turn !== turn) {
      const key = keyOf(seq);
      const said = { message: null, results: {}, lost: [], ends: null };
      this.liveRow = { kind: "step", key, seq, turn, ...said };
    }
    return this.liveRow;
  }

  /** Nothing is copied for a row that is known: a commit must not cost more in a long turn. */
  private row(messages: readonly Message[], place: Place): Row {
    const { at, end, turn, turnAt, over } = place;
    const message = messages[at] as Message;
    const known = this.known.get(message);
    if (known?.turn === turn && known.over === over && isSame(known.tools, messages, at + 1, end))
      return known.row;
    const tools = messages.slice(at + 1, end);
    const row = made(message, tools, turn, over ? summary(messages.slice(turnAt, end)) : null);
    this.known.set(message, { tools, turn, over, row });
    return row;
  }
}

export function keyOf(seq: number): string {
  return `m${seq}`;
}

function sendingRow(sending: Sending, seq: number): SendingRow {
  return { kind: "sending", key: keyOf(seq), seq, turn: seq, sending };
}

function made(
  message: Message,
  tools: readonly Message[],
  turn: number,
  ends: TurnEnd | null,
): Row {
  const { seq } = message;
  const key = keyOf(seq);
  if (message.role === "user") return { kind: "user", key, seq, turn, message };
  if (message.role === "summary") return { kind: "boundary", key, seq, turn, message };
  const results: Record<string, ToolResultPart> = {};
  for (const each of [message, ...tools]) {
    for (const part of each.parts) if (part.type === "tool_result") results[part.call_id] = part;
  }
  const lost = tools.flatMap(({ takeover }) => (takeover == null ? [] : [takeover]));
  return { kind: "step", key, seq, turn, message, results, lost, ends };
}

/** The end of a message together with the results of its calls. */
function withTools(messages: readonly Message[], at: number): number {
  let end = at + 1;
  while (messages[end]?.role === "tool") end++;
  return end;
}

function isSame(some: readonly Message[], all: readonly Message[], from: number, to: number) {
  return some.length === to - from && some.every((each, n) => each === all[from + n]);
}

function summary(messages: readonly Message[]): TurnEnd {
  const replies = messages.filter((message) => message.role === "assistant");
  const usage: Record<string, number> = {};
  let costMicros: number | null = null;
  for (const reply of replies) {
    for (const [name, count] of Object.entries(reply.usage ?? {})) {
      if (typeof count === "number") usage[name] = (usage[name] ?? 0) + count;
    }
    if (reply.cost_micro_usd !== null) costMicros = (costMicros ?? 0) + reply.cost_micro_usd;
  }
  const first = messages[0];
  return {
    steps: replies.length,
    calls: replies.flatMap((reply) => reply.parts).filter((part) => part.type === "tool_call")
      .length,
    model: replies.at(-1)?.model ?? null,
    usage,
    costMicros,
    startedAt: first?.role === "user" ? first.created_at : null,
    endedAt: messages.at(-1)?.created_at ?? "",
  };
}
