/**
 * One open chat: its log, its commands, its stream, and the state of the pane that shows it. Nothing
 * of it is shared with another pane, not even with one that shows the same chat.
 */
import { type Connection, Stream } from "@holdfast/client";
import type { VirtualItem } from "@tanstack/react-virtual";
import { createStore } from "zustand";
import { BASE, checkSession } from "@/api/client";
import type { ChatActions } from "@/engine/actions";
import { ChatLog } from "@/engine/chat-store";
import { commandsOf } from "@/engine/commands";
import { useChatConnections } from "@/engine/connection";
import { type Outbox, outbox, type Unsent, type UnsentState } from "@/engine/outbox";
import type { Sending } from "@/engine/rows";
import type { Follow } from "@/features/transcript/follow";
import { onForget } from "@/lib/forget";
import { createPaneRefs } from "./panes";

/** Where the reader was when the pane was closed. */
export interface ScrollPlace {
  readonly offset: number;
  readonly follow: Follow;
  readonly sizes: VirtualItem[];
}

const HIDDEN_MS = 60_000;

export function sendingOf(message: Unsent, state: UnsentState): Sending {
  const { clientKey, text, model, effort = null, web, planMode = null, why, at } = message;
  return { clientKey, text, model, effort, web, planMode, why, at, state };
}

export class ChatSession {
  /** Null: the stream is not open. */
  readonly connection = createStore<{ now: Connection | null }>(() => ({ now: null }));
  /** Whether the reader looks for words in this chat. */
  readonly find = createStore<{ isOpen: boolean }>(() => ({ isOpen: false }));
  readonly refs = createPaneRefs();
  scroll: ScrollPlace | null = null;
  /** Nothing is heard of the outbox any more. */
  readonly dispose: () => void;
  private stream: Stream | null = null;
  private isUsed = false;

  constructor(
    readonly log: ChatLog,
    readonly actions: ChatActions = commandsOf(log),
    box: Outbox = outbox,
  ) {
    this.dispose = box.attach(log.chatId, {
      changed: (message, state) => log.putSending(sendingOf(message, state)),
      landed: ({ clientKey }, receipt) => log.landed(clientKey, receipt),
      gone: (clientKey) => log.dropSending(clientKey),
    });
  }

  /** A pane shows it. */
  get isOpen(): boolean {
    return this.isUsed;
  }

  readonly openFind = (): void => this.find.setState({ isOpen: true });
  readonly closeFind = (): void => this.find.setState({ isOpen: false });
  readonly retryNow = (): void => this.stream?.retryNow();

  /**
   * Follows the chat until the result is called; the turn goes on without a reader. A tab that is
   * hidden for a minute closes its connection, of which a browser has few, and catches up when it is
   * shown again.
   */
  follow(): () => void {
    let hiding = 0;
    const onVisibility = (): void => {
      clearTimeout(hiding);
      if (document.visibilityState === "hidden") {
        hiding = window.setTimeout(() => this.disconnect(), HIDDEN_MS);
      } else if (this.stream === null) this.connect();
    };
    this.isUsed = true;
    document.addEventListener("visibilitychange", onVisibility);
    this.connect();
    return () => {
      this.isUsed = false;
      clearTimeout(hiding);
      document.removeEventListener("visibilitychange", onVisibility);
      this.disconnect();
    };
  }

  private connect(): void {
    const { log } = this;
    this.stream = new Stream({
      url: `${BASE}api/v1/chats/${log.chatId}/events`,
      cursor: () => log.cursor,
      beginAnew: () => log.beginAnew(),
      onEvent: (event) => log.apply(event),
      onState: (now) => this.connection.setState({ now }),
      onRefused: (status) => (status === 401 ? checkSession() : log.markUnavailable()),
    });
    this.stream.start();
  }

  private disconnect(): void {
    this.stream?.stop();
    this.stream = null;
    this.connection.setState({ now: null });
  }
}

const KEPT_MAX = 5;
const PLACES_MAX = 20;

/** Caches the last five chat sessions, so that returning to a chat is instant. */
export class ChatSessions {
  /** The one that was opened last is last. */
  private sessions: readonly ChatSession[] = [];
  /** Scroll places of sessions that were dropped, by chat. */
  private readonly places = new Map<string, ScrollPlace>();
  /** Of an open session that is cut off; null: none is. */
  readonly connection = createStore<{ now: Connection | null }>(() => ({ now: null }));

  /** A session of the chat that no pane shows, or a new one. */
  open(chatId: string): ChatSession {
    const known = this.sessions.findLast(({ log, isOpen }) => log.chatId === chatId && !isOpen);
    const session = known ?? this.create(chatId);
    this.sessions = [...this.sessions.filter((each) => each !== session), session];
    this.evict(session);
    return session;
  }

  readonly retryNow = (): void => {
    for (const session of this.sessions) session.retryNow();
  };

  /** After a user has signed out, nothing of theirs stays. */
  forgetAll(): void {
    for (const session of this.sessions) session.dispose();
    this.sessions = [];
    this.places.clear();
  }

  private create(chatId: string): ChatSession {
    const session = new ChatSession(new ChatLog(chatId));
    session.scroll = this.places.get(chatId) ?? null;
    session.connection.subscribe(() => this.update());
    return session;
  }

  /** What a pane shows, and what has unsent messages, stays however long it was not used. */
  private evict(opened: ChatSession): void {
    const idle = this.sessions.filter(
      (each) => each !== opened && !each.isOpen && !each.log.hasUnsent,
    );
    const dropped = new Set(idle.slice(0, Math.max(0, this.sessions.length - KEPT_MAX)));
    this.sessions = this.sessions.filter((each) => !dropped.has(each));
    for (const { log, scroll, dispose } of dropped) {
      dispose();
      this.places.delete(log.chatId);
      if (scroll !== null) this.places.set(log.chatId, scroll);
      const oldest = this.places.keys().next().value;
      if (this.places.size > PLACES_MAX && oldest !== undefined) this.places.delete(oldest);
    }
  }

  private update(): void {
    const states = this.sessions.map((session) => session.connection.getState().now);
    const now = states.find((state) => state?.state === "down") ?? null;
    this.connection.setState({ now });
  }
}

export const chatSessions = new ChatSessions();
onForget(() => chatSessions.forgetAll());
chatSessions.connection.subscribe(({ now }) => useChatConnections.setState({ now }));
useChatConnections.setState({ retryNow: chatSessions.retryNow });
