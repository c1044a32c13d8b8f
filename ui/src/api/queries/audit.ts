/** What was done in the organisation, for its administrators. */
import { type components, unwrap } from "@holdfast/client";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type AuditEntry = components["schemas"]["AuditEntry"];

export function auditQuery(cursor: string | undefined) {
  return queryOptions({
    queryKey: ["audit", cursor],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/organization/audit-log", { params: { query: { cursor } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}
