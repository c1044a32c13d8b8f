/** Who is signed in, and what they may do. */
import { QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import { api, asked, onSignedOut, Problem } from "@/api/client";
import type { components } from "@/api/schema.gen";
import { chatList } from "@/log/list";
import { forgetAll } from "@/log/logs";

export type Me = components["schemas"]["Me"];

export type Models = components["schemas"]["Models"];

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 3 && !(error instanceof Problem && !error.passing),
    },
  },
});

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => asked(api.GET("/api/v1/me")),
  staleTime: Number.POSITIVE_INFINITY,
});

export function useMe() {
  return useQuery(meQuery);
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => asked(api.GET("/api/v1/models")),
});

const PEOPLE_MAX = 200;

/** Everybody in the organisation, for those who are to be found by name. */
export const peopleQuery = queryOptions({
  queryKey: ["users"],
  queryFn: () => asked(api.GET("/api/v1/users", { params: { query: { limit: PEOPLE_MAX } } })),
});

/** The kinds of workspaces that chats may have. */
export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: () => asked(api.GET("/api/v1/templates")),
});

/** The server no longer knows us: what was theirs is forgotten, and the page asks who it is. */
export function forgetMe(): void {
  forgetAll();
  chatList.forget();
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
  void queries.resetQueries({ queryKey: ["me"] });
}

let asking = false;
onSignedOut(() => {
  if (asking || queries.getQueryData(meQuery.queryKey) === undefined) return;
  asking = true;
  forgetMe();
  setTimeout(() => {
    asking = false;
  }, 1000);
});

export async function signOut(): Promise<void> {
  await asked(api.DELETE("/api/v1/sign-ins/current")).catch((error: unknown) => {
    if (!(error instanceof Problem && error.status === 401)) throw error;
  });
  forgetMe();
}
