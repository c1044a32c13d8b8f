/** Chats that are not followed by a stream: searched, opened by address, shared, older histories. */

import { type ChatError, type components, unwrap } from "@holdfast/client";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type Share = components["schemas"]["Share"];

const FOUND_AT_ONCE = 50;

/** Chats whose title has the words of `q`, or archived chats. */
export function chatSearchQuery(q: string, archived: boolean) {
  return infiniteQueryOptions({
    queryKey: ["found", q, archived],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        q: q === "" ? null : q,
        archived: archived ? ("true" as const) : ("false" as const),
        cursor: pageParam,
        limit: FOUND_AT_ONCE,
      };
      return unwrap(api.GET("/api/v1/chats", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    staleTime: 5_000,
    placeholderData: (before) => before,
  });
}

/** `archived`: part of the key, so that a change of it asks again. */
export function chatQuery(chatId: string, archived: boolean | undefined) {
  return queryOptions({
    queryKey: ["chat", chatId, archived],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/chats/{chat_id}", { params: { path: { chat_id: chatId } }, signal })),
  });
}

/** `error`: part of the key: each failure has details of its own. */
export function errorDetailsQuery(chatId: string, error: ChatError) {
  return queryOptions({
    queryKey: ["error-details", chatId, error],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/chats/{chat_id}", { params: { path: { chat_id: chatId } }, signal })),
    gcTime: 0, // the next failure of the same kind has another request id
  });
}

/** `cuts`: how often the history was cut; each cut leaves a branch behind. */
export function branchesQuery(chatId: string, cuts: number) {
  return queryOptions({
    queryKey: ["branches", chatId, cuts],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/chats/{chat_id}/branches", {
          params: { path: { chat_id: chatId } },
          signal,
        }),
      ),
    placeholderData: (before) => before,
  });
}

const VERSION_MESSAGES = 50;

/** The last messages of the history as of a version. */
export function versionQuery(chatId: string, version: number) {
  return queryOptions({
    queryKey: ["version", chatId, version],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/chats/{chat_id}/messages", {
          params: { path: { chat_id: chatId }, query: { version, limit: VERSION_MESSAGES } },
          signal,
        }),
      ),
  });
}

export function sharesQuery(chatId: string) {
  return queryOptions({
    queryKey: ["shares", chatId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/chats/{chat_id}/shares", {
          params: { path: { chat_id: chatId } },
          signal,
        }),
      ),
  });
}
