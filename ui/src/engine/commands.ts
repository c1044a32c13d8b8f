/** The commands to one chat, as requests. Messages go by the outbox, which shows and repeats them. */

import { ApiError, idempotencyHeader, unwrap, withRetry } from "@holdfast/client";
import { api } from "@/api/client";
import type { ChatActions, Draft, WhenBusy } from "./actions";
import type { ChatLog } from "./chat-store";
import { type Outbox, outbox } from "./outbox";

const OLDER_AT_ONCE = 200;

export function commandsOf(log: ChatLog, box: Outbox = outbox): ChatActions {
  const path = { chat_id: log.chatId };
  let loading: Promise<void> | null = null;

  /** Repeats a request under one key, so that the server does it once. */
  function repeatable<T>(
    request: (header: ReturnType<typeof idempotencyHeader>) => Promise<T>,
  ): Promise<T> {
    const header = idempotencyHeader();
    return withRetry(() => request(header), [300, 1000, 2000]);
  }

  return {
    send(draft: Draft, whenBusy: WhenBusy) {
      box.add(log.chatId, draft, whenBusy);
    },
    resend: (clientKey) => box.resend(clientKey),
    discard: (clientKey) => box.discard(clientKey),
    async interrupt() {
      // The turn that is shown, and no later one: it may end while the request is on its way.
      const body = { turn_seq: log.snapshot().view.state?.turn_seq ?? null };
      try {
        await repeatable((header) =>
          unwrap(api.POST("/api/v1/chats/{chat_id}/interrupt", { params: { path, header }, body })),
        );
      } catch (error) {
        if (!(error instanceof ApiError && error.code === "turn_changed")) throw error;
      }
    },
    async retry(model) {
      await repeatable((header) =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/retry", { params: { path, header }, body: { model } }),
        ),
      );
    },
    async edit(seq, draft) {
      await repeatable((header) =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/messages/{seq}/edit", {
            params: { path: { ...path, seq }, header },
            body: {
              text: draft.text,
              model: draft.model,
              effort: draft.effort ?? null,
              web: draft.web ?? null,
              plan_mode: draft.planMode ?? null,
            },
          }),
        ),
      );
    },
    take(queuedId) {
      return repeatable((header) =>
        unwrap(
          api.DELETE("/api/v1/chats/{chat_id}/queue/{queued_id}", {
            params: { path: { ...path, queued_id: queuedId }, header },
          }),
        ),
      );
    },
    async remove(queuedId) {
      await unwrap(
        api.DELETE("/api/v1/chats/{chat_id}/queue/{queued_id}", {
          params: { path: { ...path, queued_id: queuedId } },
        }),
      );
    },
    async place(queuedId, before) {
      await unwrap(
        api.PATCH("/api/v1/chats/{chat_id}/queue/{queued_id}", {
          params: { path: { ...path, queued_id: queuedId } },
          body: { before_id: before },
        }),
      );
    },
    async resumeQueue() {
      await repeatable((header) =>
        unwrap(api.POST("/api/v1/chats/{chat_id}/queue/resume", { params: { path, header } })),
      );
    },
    async clearQueue() {
      await repeatable((header) =>
        unwrap(api.DELETE("/api/v1/chats/{chat_id}/queue", { params: { path, header } })),
      );
    },
    async promote(queuedId) {
      await repeatable((header) =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/queue/{queued_id}/send-now", {
            params: { path: { ...path, queued_id: queuedId }, header },
          }),
        ),
      );
    },
    async decide(callId, verdict, reason, digest) {
      await repeatable((header) =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/tool-decisions", {
            params: { path, header },
            body: {
              decisions: [{ call_id: callId, decision: verdict, reason: reason ?? "", digest }],
            },
          }),
        ),
      );
    },
    async answer(callId, output, failed) {
      await repeatable((header) =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/tool-results", {
            params: { path, header },
            body: { results: [{ call_id: callId, output, is_error: failed }] },
          }),
        ),
      );
    },
    async compact() {
      await repeatable((header) =>
        unwrap(api.POST("/api/v1/chats/{chat_id}/compact", { params: { path, header } })),
      );
    },
    async restore(version) {
      await repeatable((header) =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/restore", {
            params: { path, header },
            body: { version },
          }),
        ),
      );
    },
    loadOlder() {
      const before = log.now.older;
      if (before === null) return Promise.resolve();
      loading ??= olderThan(path, before)
        .then(({ data, next_cursor: next }) =>
          log.prepend(before, data, next === null ? null : (data[0]?.seq ?? null)),
        )
        .finally(() => {
          loading = null;
        });
      return loading;
    },
  };
}

/** The page before a seq. A page may be empty for this reader and yet not be the last one. */
async function olderThan(path: { chat_id: string }, before: number) {
  const read = (query: { before_seq: number } | { cursor: string }) =>
    withRetry(() =>
      unwrap(
        api.GET("/api/v1/chats/{chat_id}/messages", {
          params: { path, query: { ...query, limit: OLDER_AT_ONCE } },
        }),
      ),
    );
  let page = await read({ before_seq: before });
  while (page.data.length === 0 && page.next_cursor !== null) {
    page = await read({ cursor: page.next_cursor });
  }
  return page;
}
