/** Signing out, and the end of a session that the server no longer knows. */

import { ApiError, unwrap } from "@holdfast/client";
import { api, onSessionExpired } from "@/api/client";
import { meQuery } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import { chatList } from "@/engine/chat-list";
import { forgetUser } from "@/lib/forget";

/** The server no longer knows us: what was theirs is forgotten, and the page asks who it is. */
export function forgetMe(): void {
  forgetUser();
  chatList.forget();
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
  void queryClient.resetQueries({ queryKey: ["me"] });
}

let asking = false;
onSessionExpired(() => {
  if (asking || queryClient.getQueryData(meQuery.queryKey) === undefined) return;
  asking = true;
  forgetMe();
  setTimeout(() => {
    asking = false;
  }, 1000);
});

export async function signOut(): Promise<void> {
  await unwrap(api.DELETE("/api/v1/sessions/current")).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  });
  forgetMe();
  (await import("@/engine/outbox")).outbox.forget();
}
