/** The signed-in user, and the ways to sign in. */

import { type components, unwrap } from "@holdfast/client";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "@/api/client";

export type Me = components["schemas"]["Me"];

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/me", { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

export function useMe() {
  return useQuery(meQuery);
}

export const providersQuery = queryOptions({
  queryKey: ["oidc"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/oidc", { signal })),
});
