/** The API keys that the signed-in user may see. */
import { type components, unwrap } from "@holdfast/client";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

export type Key = components["schemas"]["ApiKey"];

export const KEYS_KEY = ["keys"] as const;

export function keysQuery(cursor: string | undefined) {
  return queryOptions({
    queryKey: [...KEYS_KEY, cursor],
    queryFn: ({ signal }) => {
      const query = { user_id: "any", cursor };
      return unwrap(api.GET("/api/v1/api-keys", { params: { query }, signal }));
    },
    placeholderData: keepPreviousData,
  });
}
