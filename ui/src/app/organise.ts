/** Pin, rename, archive: shown at once, taken back with a sentence if the server refuses. */
import { api, asked, keyed, persistently, sentenceOf } from "@/api/client";
import { say } from "@/kit/toast";
import { chatList } from "@/log/list";
import type { ChatEntry } from "@/log/types";
import { words } from "@/words";

async function assuming(
  before: ChatEntry,
  assumed: ChatEntry,
  request: () => Promise<ChatEntry>,
): Promise<void> {
  chatList.assume(assumed);
  try {
    chatList.assume(await persistently(request, [300, 1000]));
  } catch (error) {
    chatList.assume(before);
    say(sentenceOf(error), "danger");
  }
}

export function pin(chat: ChatEntry, pinned: boolean): Promise<void> {
  const path = { chat_id: chat.chat_id };
  return assuming(chat, { ...chat, pinned }, () =>
    asked(api.PUT("/api/v1/chats/{chat_id}/pinned", { params: { path }, body: { pinned } })),
  );
}

export function rename(chat: ChatEntry, given: string): Promise<void> {
  const title = given.trim() === "" ? null : given.trim();
  if (title === chat.title) return Promise.resolve();
  const path = { chat_id: chat.chat_id };
  return assuming(chat, { ...chat, title }, () =>
    asked(api.PUT("/api/v1/chats/{chat_id}/title", { params: { path }, body: { title } })),
  );
}

const NAME_MAX = 60;

/** A chat by the words it began with, so that it is found again; not by a model, and no more. */
export function nameOf(text: string): string {
  const line = text.split("\n").find((each) => each.trim() !== "") ?? "";
  const bare = line.replace(/^[\s#>*-]+/, "").trim();
  if (bare.length <= NAME_MAX) return bare;
  const cut = bare.slice(0, NAME_MAX);
  const space = cut.lastIndexOf(" ");
  return `${space > NAME_MAX / 2 ? cut.slice(0, space) : cut}…`;
}

export function nameAfter(chatId: string, text: string): void {
  const title = nameOf(text);
  if (title === "") return;
  const params = { path: { chat_id: chatId } };
  persistently(() =>
    asked(api.PUT("/api/v1/chats/{chat_id}/title", { params, body: { title } })),
  ).catch(() => {}); // it can be renamed by hand
}

export async function archive(chat: ChatEntry): Promise<void> {
  const params = { path: { chat_id: chat.chat_id }, header: keyed() };
  chatList.remove(chat.chat_id);
  try {
    await persistently(() => asked(api.POST("/api/v1/chats/{chat_id}/archive", { params })));
    say(words.sidebar.archived, "plain", {
      label: words.sidebar.undo,
      act: () => void bringBack(chat.chat_id),
    });
  } catch (error) {
    chatList.assume(chat);
    say(sentenceOf(error), "danger");
  }
}

export async function bringBack(chatId: string): Promise<void> {
  const params = { path: { chat_id: chatId }, header: keyed() };
  try {
    await persistently(() => asked(api.POST("/api/v1/chats/{chat_id}/unarchive", { params })));
  } catch (error) {
    say(sentenceOf(error), "danger");
  }
}
