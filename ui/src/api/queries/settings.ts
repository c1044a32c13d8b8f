/** The settings of the organisation. */

import { type components, unwrap } from "@holdfast/client";
import { queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

type Schemas = components["schemas"];
export type Settings = Schemas["Settings"];
type SettingsPatch = Schemas["UpdateSettings"];

/** Settings as they were seen: a change is made to these, or refused. */
export interface SeenSettings {
  readonly values: Settings;
  readonly etag: string | null;
}

async function seen(
  request: Promise<{ data?: Settings; error?: unknown; response: Response }>,
): Promise<SeenSettings> {
  const values = await unwrap(request);
  return { values, etag: (await request).response.headers.get("etag") };
}

export const settingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: ({ signal }) => seen(api.GET("/api/v1/organization/settings", { signal })),
});

export function patchSettings(body: SettingsPatch, etag: string | null): Promise<SeenSettings> {
  const params = { header: ifMatch(etag) };
  return seen(api.PATCH("/api/v1/organization/settings", { params, body }));
}

/** The header of a change to what was seen. */
export function ifMatch(etag: string | null) {
  return etag === null ? {} : { "if-match": etag };
}
