/** The providers for which the signed-in user may store a key. */
import { type components, unwrap } from "@holdfast/client";
import { queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type ProviderKey = components["schemas"]["ProviderKey"];

export const providerKeysQuery = queryOptions({
  queryKey: ["provider-keys"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/provider-keys", { signal })),
});
