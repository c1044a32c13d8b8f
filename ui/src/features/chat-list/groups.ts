/** The list in groups by time, as rows of two kinds. */

import type { ChatSummary } from "@holdfast/client";
import { inOrder } from "@/engine/chat-list";
import { commonStrings } from "@/i18n/en/common";

export type ListRow =
  | { readonly kind: "group"; readonly key: string; readonly title: string }
  | { readonly kind: "chat"; readonly key: string; readonly chat: ChatSummary };

const DAY_MS = 86_400_000;
const t = commonStrings.sidebar;

export function groupOf(chat: ChatSummary, now: Date): string {
  if (chat.pinned) return t.pinned;
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const touched = Date.parse(chat.updated_at);
  if (touched >= midnight) return t.today;
  if (touched >= midnight - DAY_MS) return t.yesterday;
  if (touched >= midnight - 7 * DAY_MS) return t.week;
  if (touched >= midnight - 30 * DAY_MS) return t.month;
  return t.older;
}

/** `chats` are in order. */
export function grouped(chats: readonly ChatSummary[], now: Date): ListRow[] {
  const rows: ListRow[] = [];
  let last: string | null = null;
  for (const chat of chats) {
    const title = groupOf(chat, now);
    if (title !== last) rows.push({ kind: "group", key: `group ${title}`, title });
    last = title;
    rows.push({ kind: "chat", key: chat.id, chat });
  }
  return rows;
}

/**
 * What a search shows: what the server found, and chats of the list whose title has the words now. A
 * title that changed after the server looked is found, too. The list is newer than what was found.
 */
export function foundRows(
  found: readonly ChatSummary[],
  listed: ReadonlyMap<string, ChatSummary>,
  wanted: string,
): ListRow[] {
  const chats = new Map(found.map((chat) => [chat.id, listed.get(chat.id) ?? chat]));
  const words = wanted.toLowerCase();
  if (words !== "") {
    for (const chat of listed.values()) {
      if (chat.title?.toLowerCase().includes(words)) chats.set(chat.id, chat);
    }
  }
  return inOrder(chats.values()).map((chat) => ({ kind: "chat", key: chat.id, chat }));
}

/** Today the time, this year the day, else the date. */
export function briefTime(at: string, now: Date): string {
  const date = new Date(at);
  if (date.toDateString() === now.toDateString()) {
    return date.toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
  }
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { day: "numeric", month: "short", year });
}
