/** Models and workspace templates that chats may use. */

import { type components, unwrap } from "@holdfast/client";
import { queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

/** The models that messages may ask for; `windows`: their context windows in tokens. */
export interface Models {
  readonly models: readonly string[];
  readonly default: string | null;
  readonly windows: Readonly<Record<string, number | null>>;
}

function modelsOf(data: readonly components["schemas"]["Model"][]): Models {
  return {
    models: data.map((model) => model.id),
    default: data.find((model) => model.is_default)?.id ?? null,
    windows: Object.fromEntries(data.map((model) => [model.id, model.context_window])),
  };
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: async ({ signal }) =>
    modelsOf((await unwrap(api.GET("/api/v1/models", { signal }))).data),
});

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: ({ signal }) => unwrap(api.GET("/api/v1/workspace-templates", { signal })),
});
