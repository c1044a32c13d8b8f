/** What was done in the organisation, for its administrators. */
import { type components, type paths, unwrap } from "@holdfast/client";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type AuditEntry = components["schemas"]["AuditEntry"];
type Wanted = NonNullable<paths["/api/v1/organization/audit-log"]["get"]["parameters"]["query"]>;

export function auditQuery(wanted: Wanted) {
  return queryOptions({
    queryKey: ["audit", wanted],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/organization/audit-log", { params: { query: wanted }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}
