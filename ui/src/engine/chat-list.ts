/**
 * The list of chats, as a pure function of the events of `/events`, and older pages of it.
 *
 * Each event has the whole entry of a chat and replaces the known one; nothing is requested again.
 */

import {
  type Chat,
  type ChatSummary,
  type Followed,
  openSocketOrFetch,
  Stream,
  unwrap,
  type WatchEvent,
  type WireEvent,
} from "@holdfast/client";
import { useSyncExternalStore } from "react";
import { api, BASE, checkSession } from "@/api/client";
import { onFrame } from "@/lib/frame";
import { useListConnection } from "./connection";

export interface ListView {
  /** By chat id. */
  readonly chats: ReadonlyMap<string, ChatSummary>;
  /** Where older ones begin; null: there are none. */
  readonly after: string | null;
  readonly cursor: string | null;
  readonly isLoaded: boolean;
}

export const NO_CHATS: ListView = { chats: new Map(), after: null, cursor: null, isLoaded: false };

export function reduceList(view: ListView, event: WireEvent): ListView {
  const next = isKnown(event) ? handle(view, event) : view;
  return { ...next, cursor: event.cursor ?? view.cursor };
}

type Handlers = {
  readonly [E in WatchEvent as E["type"]]: (view: ListView, data: E["data"]) => ListView;
};

const HANDLERS: Handlers = {
  "chats.snapshot": (view, { chats, after }) => ({
    ...view,
    chats: new Map(chats.map((each) => [each.id, each])),
    after,
    isLoaded: true,
  }),
  "chat.updated": (view, chat) => ({
    ...view,
    chats: without(view.chats, chat.id, chat.archived ? [] : [chat]),
  }),
  "chat.removed": (view, { chat_id }) => ({ ...view, chats: without(view.chats, chat_id, []) }),
  ping: (view) => view,
  closed: (view) => view,
};

function isKnown(event: WireEvent): event is WatchEvent {
  return Object.hasOwn(HANDLERS, event.type);
}

/** TypeScript does not see that the handler and the data are of the same type of event. */
function handle(view: ListView, { type, data }: WatchEvent): ListView {
  return (HANDLERS[type] as (view: ListView, data: unknown) => ListView)(view, data);
}

function without(chats: ReadonlyMap<string, ChatSummary>, id: string, instead: ChatSummary[]) {
  const next = new Map(chats);
  next.delete(id);
  for (const chat of instead) next.set(id, chat);
  return next;
}

/** A chat as the list has it. */
export function listedOf(chat: Chat): ChatSummary {
  return { ...chat, action_required: chat.action_required?.type ?? null };
}

/** Pinned chats first, then by the last change. */
export function inOrder(chats: Iterable<ChatSummary>): ChatSummary[] {
  return [...chats].sort(
    (one, other) =>
      Number(other.pinned) - Number(one.pinned) || (one.updated_at < other.updated_at ? 1 : -1),
  );
}

export interface Listed {
  readonly view: ListView;
  readonly chats: readonly ChatSummary[];
}

/** The one list of this page. */
class ChatList {
  private view = NO_CHATS;
  private listed: Listed = { view: NO_CHATS, chats: [] };
  private readonly listeners = new Set<() => void>();
  private scheduled = false;
  private stream: Stream | null = null;
  private paging: Promise<void> | null = null;

  start(): () => void {
    const watched: Followed = {
      url: `${BASE}api/v1/events`,
      cursor: () => this.view.cursor,
      beginAnew: () => this.change({ ...this.view, cursor: null }),
      onEvent: (event) => this.change(reduceList(this.view, event)),
      onState: (now) => useListConnection.setState({ now }),
      onRefused: checkSession,
    };
    const stream = new Stream(watched, openSocketOrFetch());
    this.stream = stream;
    stream.start();
    return () => stream.stop();
  }

  readonly retryNow = (): void => this.stream?.retryNow();

  forget(): void {
    this.change(NO_CHATS);
  }

  find(chatId: string): ChatSummary | undefined {
    return this.view.chats.get(chatId);
  }

  /** Shows a change before the server confirms it; the next event of the chat replaces it. */
  assume(chat: ChatSummary): void {
    this.change({ ...this.view, chats: without(this.view.chats, chat.id, [chat]) });
  }

  remove(chatId: string): void {
    this.change({ ...this.view, chats: without(this.view.chats, chatId, []) });
  }

  more(): Promise<void> {
    const { after } = this.view;
    if (after === null) return Promise.resolve();
    this.paging ??= unwrap(
      api.GET("/api/v1/chats", {
        params: { query: { cursor: after, pinned: "first", limit: 100 } },
      }),
    )
      .then((page) => {
        if (this.view.after !== after) return; // another snapshot came meanwhile
        const chats = new Map(page.data.map((each) => [each.id, each]));
        for (const [id, chat] of this.view.chats) chats.set(id, chat); // the stream is newer
        this.change({ ...this.view, chats, after: page.next_cursor });
      })
      .finally(() => {
        this.paging = null;
      });
    return this.paging;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): Listed => this.listed;

  private change(view: ListView): void {
    this.view = view;
    if (this.scheduled) return;
    this.scheduled = true;
    onFrame(() => {
      this.scheduled = false;
      const same = this.listed.view.chats === this.view.chats;
      const chats = same ? this.listed.chats : inOrder(this.view.chats.values());
      this.listed = { view: this.view, chats };
      for (const listener of [...this.listeners]) listener();
    });
  }
}

export const chatList = new ChatList();

export function useChats(): Listed {
  return useSyncExternalStore(chatList.subscribe, chatList.snapshot);
}

export function useEntry(chatId: string): ChatSummary | undefined {
  return useSyncExternalStore(chatList.subscribe, () => chatList.snapshot().view.chats.get(chatId));
}

/** How many other chats have something unread; in the title, for a tab in the background. */
export function useUnread(except: string | undefined): number {
  return useSyncExternalStore(
    chatList.subscribe,
    () => chatList.snapshot().chats.filter((chat) => chat.unread && chat.id !== except).length,
  );
}
