/** The commands to one chat, as requests. A sent message is shown at once, and repeated under its key. */

import {
  ApiError,
  createId,
  errorMessage,
  idempotencyHeader,
  unwrap,
  withRetry,
} from "@holdfast/client";
import { api } from "@/api/client";
import type { ChatActions, Draft, WhenBusy } from "./actions";
import type { ChatLog } from "./chat-store";

const OLDER_AT_ONCE = 200;

export function commandsOf(log: ChatLog): ChatActions {
  const path = { chat_id: log.chatId };
  const whenBusyOf = new Map<string, WhenBusy>();
  let loading: Promise<void> | null = null;
  let delivered: Promise<void> = Promise.resolve();

  /** After the messages before it: two requests at once could arrive in either order. */
  function deliverInOrder(clientKey: string): void {
    delivered = delivered.then(() => deliver(clientKey));
  }

  /** Repeats a request under one key, so that the server does it once. */
  function repeatable<T>(
    request: (header: ReturnType<typeof idempotencyHeader>) => Promise<T>,
  ): Promise<T> {
    const header = idempotencyHeader();
    return withRetry(() => request(header), [300, 1000, 2000]);
  }

  async function deliver(clientKey: string): Promise<void> {
    const sending = log.findSending(clientKey);
    if (sending === undefined) return;
    const body = {
      text: sending.text,
      model: sending.model,
      effort: sending.effort ?? null,
      web: sending.web ?? null,
      when_busy: whenBusyOf.get(clientKey) ?? ("queue" as const),
    };
    try {
      const landed = await withRetry(() =>
        unwrap(
          api.POST("/api/v1/chats/{chat_id}/messages", {
            params: { path, header: idempotencyHeader(clientKey) },
            body,
          }),
        ),
      );
      log.landed(clientKey, landed);
    } catch (error) {
      log.changeSending(clientKey, { state: "failed", why: errorMessage(error) });
    }
  }

  return {
    send(draft: Draft, whenBusy: WhenBusy) {
      const clientKey = createId();
      whenBusyOf.set(clientKey, whenBusy);
      log.addSending({
        clientKey,
        text: draft.text,
        model: draft.model,
        effort: draft.effort ?? null,
        web: draft.web ?? null,
        state: "sending",
        why: null,
        at: Date.now(),
      });
      deliverInOrder(clientKey);
    },
    resend(clientKey) {
      log.changeSending(clientKey, { state: "sending", why: null });
      deliverInOrder(clientKey);
    },
    discard(clientKey) {
      const sending = log.findSending(clientKey);
      log.dropSending(clientKey);
      return sending === undefined
        ? null
        : {
            text: sending.text,
            model: sending.model,
            effort: sending.effort ?? null,
            web: sending.web ?? null,
          };
    },
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
