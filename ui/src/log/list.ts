/**
 * The list of chats, as a pure function of what `/watch` tells, and older pages of it.
 *
 * A change is absolute and takes the place of what was known; nothing is asked for again.
 */
import { useSyncExternalStore } from "react";
import { api, asked, askWhoWeAre, BASE } from "@/api/client";
import { onFrame } from "@/kit/frame";
import { tellList } from "./connection";
import { type Followed, openSocketOrFetch, Stream } from "./stream";
import type { ChatEntry, WireEvent } from "./types";

export interface ListView {
  /** By chat id. */
  readonly chats: ReadonlyMap<string, ChatEntry>;
  /** Where older ones begin; null: there are none. */
  readonly after: string | null;
  readonly cursor: string | null;
  readonly told: boolean;
}

export const NO_CHATS: ListView = { chats: new Map(), after: null, cursor: null, told: false };

export function reduceList(view: ListView, { event, data, id }: WireEvent): ListView {
  const cursor = id ?? view.cursor;
  switch (event) {
    case "chats": {
      const { chats, after } = data as { chats: ChatEntry[]; after: string | null };
      return {
        chats: new Map(chats.map((each) => [each.chat_id, each])),
        after,
        cursor,
        told: true,
      };
    }
    case "chat": {
      const chat = data as ChatEntry;
      return {
        ...view,
        cursor,
        chats: without(view.chats, chat.chat_id, chat.archived ? [] : [chat]),
      };
    }
    case "chat_gone": {
      return { ...view, cursor, chats: without(view.chats, (data as ChatEntry).chat_id, []) };
    }
    default:
      return { ...view, cursor };
  }
}

function without(chats: ReadonlyMap<string, ChatEntry>, id: string, instead: ChatEntry[]) {
  const next = new Map(chats);
  next.delete(id);
  for (const chat of instead) next.set(id, chat);
  return next;
}

/** Pins first, then what was touched last. */
export function inOrder(chats: Iterable<ChatEntry>): ChatEntry[] {
  return [...chats].sort(
    (one, other) =>
      Number(other.pinned) - Number(one.pinned) || (one.touched_at < other.touched_at ? 1 : -1),
  );
}

export interface Listed {
  readonly view: ListView;
  readonly chats: readonly ChatEntry[];
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
      url: `${BASE}api/v1/watch`,
      cursor: () => this.view.cursor,
      onEvent: (event) => this.change(reduceList(this.view, event)),
      onState: tellList,
      onRefused: askWhoWeAre,
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

  find(chatId: string): ChatEntry | undefined {
    return this.view.chats.get(chatId);
  }

  /** Shown before the server has said so; what it says takes its place. */
  assume(chat: ChatEntry): void {
    this.change({ ...this.view, chats: without(this.view.chats, chat.chat_id, [chat]) });
  }

  remove(chatId: string): void {
    this.change({ ...this.view, chats: without(this.view.chats, chatId, []) });
  }

  more(): Promise<void> {
    const { after } = this.view;
    if (after === null) return Promise.resolve();
    this.paging ??= asked(
      api.GET("/api/v1/chats", {
        params: { query: { after, order: "pinned_first", limit: 100 } },
      }),
    )
      .then((page) => {
        if (this.view.after !== after) return; // another snapshot came meanwhile
        const chats = new Map(page.chats.map((each) => [each.chat_id, each]));
        for (const [id, chat] of this.view.chats) chats.set(id, chat); // told is newer than paged
        this.change({ ...this.view, chats, after: page.after });
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

export function useEntry(chatId: string): ChatEntry | undefined {
  return useSyncExternalStore(chatList.subscribe, () => chatList.snapshot().view.chats.get(chatId));
}

/** How many other chats have something unread; in the title, for a tab in the background. */
export function useUnread(except: string | undefined): number {
  return useSyncExternalStore(
    chatList.subscribe,
    () => chatList.snapshot().chats.filter((chat) => chat.unread && chat.chat_id !== except).length,
  );
}
