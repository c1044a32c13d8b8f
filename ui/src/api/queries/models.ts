/** Models and workspace templates that chats may use. */

import { type components, unwrap } from "@holdfast/client";
import { queryOptions } from "@tanstack/react-query";
import { api } from "@/api/client";

/** How hard a model can be told to think. */
export type Effort = NonNullable<components["schemas"]["SendMessage"]["effort"]>;

/** What a model is and can do, for the picker. */
export type ModelCard = Pick<
  components["schemas"]["Model"],
  | "vendor"
  | "price"
  | "context_window"
  | "images"
  | "documents"
  | "thinking"
  | "provider_tools"
  | "simulated"
>;

/** The models that messages may ask for; `windows`: their context windows in tokens; `efforts`: how hard
 * each can be told to think, in rising order; `searches`: those that can search the web, and whether
 * they do unless told otherwise. */
export interface Models {
  readonly models: readonly string[];
  readonly default: string | null;
  readonly windows: Readonly<Record<string, number | null>>;
  readonly efforts: Readonly<Record<string, readonly Effort[]>>;
  readonly searches: Readonly<Record<string, boolean>>;
  readonly cards: Readonly<Record<string, ModelCard>>;
}

/** Whether no language model answers here, only the simulator of `holdfast dev`. */
export function isSimulatorOnly({ models, cards }: Models): boolean {
  return models.length > 0 && models.every((model) => cards[model]?.simulated === true);
}

const EFFORTS: readonly string[] = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] satisfies Effort[];

/** A newer server may name others, which this page cannot send. */
function isEffort(effort: string): effort is Effort {
  return EFFORTS.includes(effort);
}

function searches(model: components["schemas"]["Model"]): boolean {
  return model.provider_tools.some((tool) => tool === "web_search" || tool === "web_fetch");
}

function modelsOf(data: readonly components["schemas"]["Model"][]): Models {
  return {
    models: data.map((model) => model.id),
    default: data.find((model) => model.is_default)?.id ?? null,
    windows: Object.fromEntries(data.map((model) => [model.id, model.context_window])),
    efforts: Object.fromEntries(data.map((model) => [model.id, model.efforts.filter(isEffort)])),
    searches: Object.fromEntries(
      data.filter(searches).map((model) => [model.id, model.web] as const),
    ),
    cards: Object.fromEntries(data.map((model) => [model.id, model])),
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
