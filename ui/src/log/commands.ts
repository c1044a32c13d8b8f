/** The commands to one chat, as requests; what is sent is shown at once and repeated by its key. */
import { api, asked, keyed, newKey, persistently, sentenceOf } from "@/api/client";
import type { ChatActions, Draft, WhenBusy } from "./actions";
import type { ChatLog } from "./store";

const OLDER_AT_ONCE = 200;

export function commandsOf(log: ChatLog): ChatActions {
  const path = { chat_id: log.chatId };
  const whenBusyOf = new Map<string, WhenBusy>();
  let loading: Promise<void> | null = null;

  /** Once per key, however often the network asks for it. */
  function repeatable<T>(request: (header: ReturnType<typeof keyed>) => Promise<T>): Promise<T> {
    const header = keyed();
    return persistently(() => request(header), [300, 1000, 2000]);
  }

  async function deliver(clientKey: string): Promise<void> {
    const sending = log.findSending(clientKey);
    if (sending === undefined) return;
    const body = {
      text: sending.text,
      model: sending.model,
      when_busy: whenBusyOf.get(clientKey) ?? ("queue" as const),
    };
    try {
      const landed = await persistently(() =>
        asked(
          api.POST("/api/v1/chats/{chat_id}/messages", {
            params: { path, header: keyed(clientKey) },
            body,
          }),
        ),
      );
      log.landed(clientKey, landed);
    } catch (error) {
      log.changeSending(clientKey, { state: "failed", why: sentenceOf(error) });
    }
  }

  return {
    send(draft: Draft, whenBusy: WhenBusy) {
      const clientKey = newKey();
      whenBusyOf.set(clientKey, whenBusy);
      log.addSending({
        clientKey,
        text: draft.text,
        model: draft.model,
        state: "sending",
        why: null,
        afterSeq: log.now.messages.at(-1)?.seq ?? 0,
        at: Date.now(),
      });
      void deliver(clientKey);
    },
    resend(clientKey) {
      log.changeSending(clientKey, { state: "sending", why: null });
      void deliver(clientKey);
    },
    discard(clientKey) {
      const sending = log.findSending(clientKey);
      log.dropSending(clientKey);
      return sending === undefined ? null : { text: sending.text, model: sending.model };
    },
    async interrupt() {
      await repeatable((header) =>
        asked(api.POST("/api/v1/chats/{chat_id}/interrupt", { params: { path, header } })),
      );
    },
    async retry(model) {
      await repeatable((header) =>
        asked(
          api.POST("/api/v1/chats/{chat_id}/retry", { params: { path, header }, body: { model } }),
        ),
      );
    },
    async edit(seq, draft) {
      await repeatable((header) =>
        asked(
          api.PUT("/api/v1/chats/{chat_id}/messages/{seq}", {
            params: { path: { ...path, seq }, header },
            body: { text: draft.text, model: draft.model },
          }),
        ),
      );
    },
    take(queuedId) {
      return repeatable((header) =>
        asked(
          api.POST("/api/v1/chats/{chat_id}/queue/{queued_id}/take", {
            params: { path: { ...path, queued_id: queuedId }, header },
          }),
        ),
      );
    },
    async remove(queuedId) {
      await asked(
        api.DELETE("/api/v1/chats/{chat_id}/queue/{queued_id}", {
          params: { path: { ...path, queued_id: queuedId } },
        }),
      );
    },
    async place(queuedId, before) {
      await asked(
        api.PUT("/api/v1/chats/{chat_id}/queue/{queued_id}/place", {
          params: { path: { ...path, queued_id: queuedId } },
          body: { before },
        }),
      );
    },
    async promote(queuedId) {
      await repeatable((header) =>
        asked(
          api.POST("/api/v1/chats/{chat_id}/queue/{queued_id}/promote", {
            params: { path: { ...path, queued_id: queuedId }, header },
          }),
        ),
      );
    },
    async decide(callId, verdict, reason, digest) {
      await repeatable((header) =>
        asked(
          api.POST("/api/v1/chats/{chat_id}/decisions", {
            params: { path, header },
            body: { call_id: callId, verdict, reason: reason ?? "", digest },
          }),
        ),
      );
    },
    async answer(callId, output, failed) {
      await repeatable((header) =>
        asked(
          api.POST("/api/v1/chats/{chat_id}/results", {
            params: { path, header },
            body: { results: [{ call_id: callId, output, failed }] },
          }),
        ),
      );
    },
    async compact() {
      await repeatable((header) =>
        asked(api.POST("/api/v1/chats/{chat_id}/compact", { params: { path, header } })),
      );
    },
    async restore(version) {
      await repeatable((header) =>
        asked(
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
      loading ??= persistently(() =>
        asked(
          api.GET("/api/v1/chats/{chat_id}/messages", {
            params: { path, query: { before, limit: OLDER_AT_ONCE } },
          }),
        ),
      )
        .then((page) => log.prepend(before, page.messages, page.before))
        .finally(() => {
          loading = null;
        });
      return loading;
    },
  };
}
