/** What only administrators ask: state of the server, people, providers, models, rules. */
import { type components, unwrap } from "@holdfast/client";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";
import { USERS_KEY } from "./users";

type Schemas = components["schemas"];
export type Overview = Schemas["Overview"];
export type Person = Schemas["OrganizationUser"];
export type Provider = Schemas["ProviderEntry"];
export type ModelEntry = Schemas["ModelEntry"];
export type Vendor = Schemas["VendorEntry"];
export type Discovered = Schemas["DiscoveredModel"];
export type OverseenChat = Schemas["ChatSummary"];
export type Tried = Schemas["TriedApprovals"];

export const overviewQuery = queryOptions({
  queryKey: ["admin", "overview"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organization/overview", { signal })),
  staleTime: 0,
  refetchInterval: 5_000,
});

/** A page of people by name; below the key of users, so that a change of one asks for it again. */
export function peopleQuery({ q, cursor }: { q?: string; cursor?: string }) {
  return queryOptions({
    queryKey: [...USERS_KEY, "people", q, cursor],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/organization/users", { params: { query: { q, cursor } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}

export const ORGANISATION_CHATS_KEY = ["admin", "chats"] as const;

/** A page of the chats of all members, last updated first. */
export function overseenChatsQuery(cursor?: string) {
  return queryOptions({
    queryKey: [...ORGANISATION_CHATS_KEY, cursor],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/organization/chats", { params: { query: { cursor } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: 5_000,
  });
}

/** The key of every query about providers and their models. */
export const CATALOGUE_KEY = ["admin", "catalogue"] as const;

export const providersQuery = queryOptions({
  queryKey: [...CATALOGUE_KEY, "providers"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organization/providers", { signal })),
});

export const modelEntriesQuery = queryOptions({
  queryKey: [...CATALOGUE_KEY, "models"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organization/models", { signal })),
});

export const vendorsQuery = queryOptions({
  queryKey: ["admin", "vendors"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organization/vendors", { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

export const approvalsQuery = queryOptions({
  queryKey: ["settings", "approvals"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organization/approvals", { signal })),
});
