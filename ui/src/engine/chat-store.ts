/**
 * One open chat: its view, the rows made of it, and the messages sent from here.
 *
 * Events are reduced when they come and published at most once per frame: a hundred deltas between
 * two frames are one render. `useLog` selects one piece. Deltas change only `preview`, so that a
 * component that reads `rows` does not render for them.
 */

import {
  type ChatView,
  EMPTY,
  type Message,
  type Receipt,
  reduce,
  type WireEvent,
} from "@holdfast/client";
import { useSyncExternalStore } from "react";
import { onFrame, type Schedule } from "@/lib/frame";
import { type LiveShape, livePartsOf, NO_PARTS } from "./live-parts";
import { isBusy, type Row, Rows, type Sending } from "./rows";

/** `opening`: no event has come yet. `unavailable`: it does not exist, or the user may not read it. */
export type LogState = "opening" | "open" | "unavailable";

export interface Published {
  readonly view: ChatView;
  readonly rows: readonly Row[];
  readonly sending: readonly Sending[];
  /** Which parts are streaming; the same list until one starts. */
  readonly liveParts: readonly LiveShape[];
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
  private published: Published = {
    view: EMPTY,
    rows: [],
    sending: [],
    liveParts: NO_PARTS,
    state: "opening",
    cuts: 0,
  };

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
    if (event.type === "queue.updated" || event.type === "chat.state") this.state = "open";
    if (event.type === "history.reset" && before.messages.length > 0) this.cuts++;
    if (this.view !== before) {
      if (this.sending.length > 0) this.claim();
      this.changed();
    }
  }

  /** The next connection brings a snapshot, which replaces what is shown. */
  beginAnew(): void {
    this.view = { ...this.view, cursor: null };
  }

  /** A page of older messages. Void if the history has changed since it was asked for. */
  prepend(asked: number, messages: readonly Message[], before: number | null): void {
    if (this.view.older !== asked) return;
    const first = this.view.messages[0]?.seq ?? Number.POSITIVE_INFINITY;
    const older = messages.filter((message) => message.seq < first);
    this.view = { ...this.view, messages: [...older, ...this.view.messages], older: before };
    this.changed();
  }

  markUnavailable(): void {
    this.state = "unavailable";
    this.changed();
  }

  /** Shown at once, and not with the next frame: a person looks for their words. */
  putSending(sending: Sending): void {
    const others = this.sending.filter((each) => each.clientKey !== sending.clientKey);
    const isNew = others.length === this.sending.length;
    this.sending = isNew
      ? [...others, sending]
      : this.sending.map((each) => (each.clientKey === sending.clientKey ? sending : each));
    this.claim();
    this.publish();
  }

  dropSending(clientKey: string): void {
    this.sending = this.sending.filter((each) => each.clientKey !== clientKey);
    this.changed();
  }

  /** The server has it; it is shown as ours until the stream tells of it. */
  landed(clientKey: string, { message_seq: seq, queued_id: queuedId }: Receipt): void {
    const told =
      (seq !== null && (this.view.messages.at(-1)?.seq ?? 0) >= seq) ||
      (queuedId !== null && this.view.queue.some((each) => each.queued_id === queuedId));
    if (told) this.dropSending(clientKey);
  }

  /** Messages that were sent from here and have not arrived, as far as is known. */
  get hasUnsent(): boolean {
    return this.sending.length > 0;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): Published => this.published;

  /**
   * The stream may tell of a message before the answer to its POST does. A message that carries the
   * key of one that was sent from here is that message, and is shown once.
   */
  private claim(): void {
    const arrived = new Set(
      [...this.view.messages, ...this.view.queue].map((each) => each.client_key),
    );
    const left = this.sending.filter((each) => !arrived.has(each.clientKey));
    if (left.length < this.sending.length) this.sending = left;
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
      published.view.state === view.state &&
      published.sending === sending;
    const rows = same ? published.rows : this.made.of(view, sending);
    const liveParts = livePartsOf(view.preview, published.liveParts);
    this.published = { view, rows, sending, liveParts, state, cuts };
    for (const listener of [...this.listeners]) listener();
  }
}

/** One piece of an open chat; `select` must give the same object while nothing changed. */
export function useLog<T>(log: ChatLog, select: (published: Published) => T): T {
  return useSyncExternalStore(log.subscribe, () => select(log.snapshot()));
}

export const useRows = (log: ChatLog) => useLog(log, (now) => now.rows);
export const useBusy = (log: ChatLog) => useLog(log, (now) => isBusy(now.view.state?.status));
