/** Pin, rename, archive: shown at once, taken back with a sentence if the server refuses. */
import {
  type ChatSummary,
  errorMessage,
  idempotencyHeader,
  unwrap,
  withRetry,
} from "@holdfast/client";
import { api } from "@/api/client";
import { chatList, listedOf } from "@/engine/chat-list";
import { commonStrings } from "@/i18n/en/common";
import { showToast } from "@/ui/toast";

async function assuming(
  before: ChatSummary,
  assumed: ChatSummary,
  request: () => Promise<ChatSummary>,
): Promise<void> {
  chatList.assume(assumed);
  try {
    chatList.assume(await withRetry(request, [300, 1000]));
  } catch (error) {
    chatList.assume(before);
    showToast(errorMessage(error), "danger");
  }
}

async function changed(
  path: { chat_id: string },
  body: { pinned: boolean } | { title: string | null },
): Promise<ChatSummary> {
  return listedOf(await unwrap(api.PATCH("/api/v1/chats/{chat_id}", { params: { path }, body })));
}

export function pin(chat: ChatSummary, pinned: boolean): Promise<void> {
  const path = { chat_id: chat.id };
  return assuming(chat, { ...chat, pinned }, () => changed(path, { pinned }));
}

export function rename(chat: ChatSummary, given: string): Promise<void> {
  const title = given.trim() === "" ? null : given.trim();
  if (title === chat.title) return Promise.resolve();
  const path = { chat_id: chat.id };
  return assuming(chat, { ...chat, title }, () => changed(path, { title }));
}

export async function archive(chat: ChatSummary): Promise<void> {
  const params = { path: { chat_id: chat.id }, header: idempotencyHeader() };
  chatList.remove(chat.id);
  try {
    await withRetry(() => unwrap(api.POST("/api/v1/chats/{chat_id}/archive", { params })));
    showToast(commonStrings.sidebar.archived, "plain", {
      label: commonStrings.sidebar.undo,
      act: () => void bringBack(chat.id),
    });
  } catch (error) {
    chatList.assume(chat);
    showToast(errorMessage(error), "danger");
  }
}

export async function bringBack(chatId: string): Promise<void> {
  const params = { path: { chat_id: chatId }, header: idempotencyHeader() };
  try {
    await withRetry(() => unwrap(api.POST("/api/v1/chats/{chat_id}/unarchive", { params })));
  } catch (error) {
    showToast(errorMessage(error), "danger");
  }
}
