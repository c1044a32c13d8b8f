/** The users of the organisation. */
import { type components, unwrap } from "@holdfast/client";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type User = components["schemas"]["User"];

/** The key of every query about users, to invalidate them all. */
export const USERS_KEY = ["users"] as const;

interface UsersPage {
  /** Words, each of them in the name or the e-mail. */
  readonly q?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** A page of users by name. */
export function usersQuery({ q, cursor, limit = 50 }: UsersPage) {
  return queryOptions({
    queryKey: [...USERS_KEY, "page", q, cursor, limit],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/users", { params: { query: { q, cursor, limit } }, signal })),
    placeholderData: keepPreviousData,
  });
}

export function userQuery(userId: string) {
  return queryOptions({
    queryKey: [...USERS_KEY, "one", userId],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/users/{user_id}", { params: { path: { user_id: userId } }, signal })),
  });
}
