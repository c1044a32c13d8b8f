/**
 * One open chat: its view, the rows made of it, and what was sent from here.
 *
 * Events are reduced when they come and published at most once per frame: a hundred deltas between
 * two frames are one render. `useLog` reads one piece of it; whoever reads `rows` is not disturbed
 * by deltas, since those change `preview` only.
 */
import { useSyncExternalStore } from "react";
import { onFrame, type Schedule } from "@/kit/frame";
import { isBusy, type Row, Rows, type Sending } from "./rows";
import type { Committed, Message, WireEvent } from "./types";
import { type ChatView, EMPTY, reduce } from "./view";

/** `opening`: nothing was told yet. `away`: not found, or no longer ours to read. */
export type LogState = "opening" | "open" | "away";

export interface Published {
  readonly view: ChatView;
  readonly rows: readonly Row[];
  readonly sending: readonly Sending[];
  readonly state: LogState;
  /** How often the history was cut by an edit or a restore. */
  readonly cuts: number;
}

export class ChatLog {
  private view: ChatView = EMPTY;
  private sending: readonly Sending[] = [];
  private state: LogState = "opening";
  private readonly made = new Rows();
  private readonly listeners = new Set<() => void>();
  private scheduled = false;
  private cuts = 0;
  private published: Published = { view: EMPTY, rows: [], sending: [], state: "opening", cuts: 0 };

  constructor(
    readonly chatId: string,
    private readonly schedule: Schedule = onFrame,
  ) {}

  /** Where a stream goes on; known before it is published. */
  get cursor(): string | null {
    return this.view.cursor;
  }

  get now(): ChatView {
    return this.view;
  }

  apply(event: WireEvent): void {
    const before = this.view;
    this.view = reduce(before, event);
    if (event.event === "queue" || event.event === "status") this.state = "open";
    if (event.event === "history_reset" && before.messages.length > 0) this.cuts++;
    if (this.view !== before) {
      if (this.sending.length > 0) this.claim(before);
      this.changed();
    }
  }

  /** A page of older messages. Void if the history has changed since it was asked for. */
  prepend(asked: number, messages: readonly Message[], before: number | null): void {
    if (this.view.older !== asked) return;
    const first = this.view.messages[0]?.seq ?? Number.POSITIVE_INFINITY;
    const older = messages.filter((message) => message.seq < first);
    this.view = { ...this.view, messages: [...older, ...this.view.messages], older: before };
    this.changed();
  }

  gone(): void {
    this.state = "away";
    this.changed();
  }

  addSending(sending: Sending): void {
    this.sending = [...this.sending, sending];
    this.changed();
  }

  changeSending(clientKey: string, change: Partial<Sending>): void {
    this.sending = this.sending.map((each) =>
      each.clientKey === clientKey ? { ...each, ...change } : each,
    );
    this.changed();
  }

  dropSending(clientKey: string): void {
    this.sending = this.sending.filter((each) => each.clientKey !== clientKey);
    this.changed();
  }

  /** The server has it; it is shown as ours until the stream tells of it. */
  landed(clientKey: string, { seq, queued_id: queuedId }: Committed): void {
    const told =
      (seq !== null && (this.view.messages.at(-1)?.seq ?? 0) >= seq) ||
      (queuedId !== null && this.view.queue.some((each) => each.queued_id === queuedId));
    if (told) this.dropSending(clientKey);
  }

  findSending(clientKey: string): Sending | undefined {
    return this.sending.find((each) => each.clientKey === clientKey);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): Published => this.published;

  /**
   * The stream may tell of a message before the answer to its POST does. What arrived is shown once:
   * a message that was not there before, says the same and is after the one that we knew when we
   * sent, is ours, in the order of sending.
   */
  private claim(before: ChatView): void {
    const known = new Set(before.messages);
    const waiting = new Set(before.queue.map((each) => each.queued_id));
    const arrived = [
      ...this.view.messages.filter((each) => each.role === "user" && !known.has(each)),
      ...this.view.queue.filter((each) => !waiting.has(each.queued_id)),
    ];
    for (const message of arrived) {
      const said = textOf(message.parts);
      const ours = this.sending.find(
        (each) => each.text === said && (!("seq" in message) || message.seq > each.afterSeq),
      );
      if (ours !== undefined) this.sending = this.sending.filter((each) => each !== ours);
    }
  }

  private changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.schedule(() => {
      this.scheduled = false;
      this.publish();
    });
  }

  private publish(): void {
    const { published, view, sending, state, cuts } = this;
    const same =
      published.view.messages === view.messages &&
      published.view.status === view.status &&
      published.sending === sending;
    const rows = same ? published.rows : this.made.of(view, sending);
    this.published = { view, rows, sending, state, cuts };
    for (const listener of [...this.listeners]) listener();
  }
}

export function textOf(parts: Message["parts"]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** One piece of an open chat; `select` must give the same object while nothing changed. */
export function useLog<T>(log: ChatLog, select: (published: Published) => T): T {
  return useSyncExternalStore(log.subscribe, () => select(log.snapshot()));
}

export const useRows = (log: ChatLog) => useLog(log, (now) => now.rows);
export const usePreview = (log: ChatLog) => useLog(log, (now) => now.view.preview);
export const useStatus = (log: ChatLog) => useLog(log, (now) => now.view.status);
export const useBusy = (log: ChatLog) => useLog(log, (now) => isBusy(now.view.status?.status));
export const useQueue = (log: ChatLog) => useLog(log, (now) => now.view.queue);
export const useSending = (log: ChatLog) => useLog(log, (now) => now.sending);
/** What a running tool has shown so far. */
export const useOutput = (log: ChatLog, callId: string) =>
  useLog(log, (now) => now.view.preview?.outputs[callId] ?? null);
