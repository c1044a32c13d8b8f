/** The settings of the organisation. */

import { type components, unwrap } from "@holdfast/client";
import { queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type Settings = components["schemas"]["Settings"];

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/organization/settings", { signal })),
});
