/**
 * What is worth telling somebody who looks elsewhere: a chat has ended, failed, or needs them.
 *
 * Seen from how the list changes, so that it is also noticed after a connection was away. The time
 * is passed in; what was there at first is no news.
 */
import type { ChatEntry } from "./types";

export type NewsKind = "finished" | "failed" | "needs";

export interface News {
  readonly kind: NewsKind;
  readonly chat: ChatEntry;
  /** For how long it ran, as far as this page has seen it. */
  readonly ranMs: number;
}

interface Known {
  readonly status: ChatEntry["status"];
  readonly since: number;
}

export class NewsWatch {
  private known: Map<string, Known> | null = null;

  look(chats: ReadonlyMap<string, ChatEntry>, now: number): News[] {
    const before = this.known;
    const after = new Map<string, Known>();
    const news: News[] = [];
    for (const [id, chat] of chats) {
      const was = before?.get(id);
      const isSame = was?.status === chat.status;
      after.set(id, isSame ? was : { status: chat.status, since: now });
      const kind = was === undefined || isSame ? null : kindOf(was.status, chat.status);
      if (kind !== null && was !== undefined) news.push({ kind, chat, ranMs: now - was.since });
    }
    this.known = after;
    return news;
  }
}

/** Stopping ends as somebody wished: only a turn that ran is news. */
function kindOf(was: ChatEntry["status"], is: ChatEntry["status"]): NewsKind | null {
  if (was !== "running") return null;
  if (is === "idle") return "finished";
  if (is === "failed") return "failed";
  return is === "awaiting" ? "needs" : null;
}
