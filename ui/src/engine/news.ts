/**
 * What a user who looks elsewhere is notified of: a turn has ended, has failed, or needs an action.
 *
 * It compares two states of the list, so that nothing is missed after a cut of the connection. The
 * time is passed in; the first state is no news.
 */
import type { ChatSummary } from "@holdfast/client";

type NewsKind = "finished" | "failed" | "needs";

export interface News {
  readonly kind: NewsKind;
  readonly chat: ChatSummary;
  /** For how long it ran, as far as this page has seen it. */
  readonly ranMs: number;
}

interface Known {
  readonly status: ChatSummary["status"];
  readonly since: number;
}

export class NewsWatch {
  private known: Map<string, Known> | null = null;

  look(chats: ReadonlyMap<string, ChatSummary>, now: number): News[] {
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

/** Only a turn that ran is news: the end of one that was stopped is expected. */
function kindOf(was: ChatSummary["status"], is: ChatSummary["status"]): NewsKind | null {
  if (was !== "running") return null;
  if (is === "idle") return "finished";
  if (is === "failed") return "failed";
  return is === "awaiting" ? "needs" : null;
}
