/** What the model picker and its list share; small, because the list is loaded when it is opened. */

import type { ModelCard } from "@/api/queries/models";
import { composerStrings } from "@/i18n/en/composer";
import { cost, count } from "@/lib/format";

const t = composerStrings.model;

export interface ModelChoices {
  readonly models: readonly string[];
  readonly cards: Readonly<Record<string, ModelCard>>;
  /** `null`: the standard one. */
  readonly chosen: string | null;
  readonly standard: string | null;
  readonly onChoose: (model: string | null) => void;
}

/** The same field while the list loads and after. */
export const modelField =
  "h-9 w-full border-line border-b bg-transparent px-3 text-ui outline-none placeholder:text-faint coarse:h-11";

/** What is known of a model, in a few words each. */
export function factsOf(card: ModelCard | undefined): readonly string[] {
  if (card === undefined) return [];
  const { vendor, context_window: window, price } = card;
  const input = cost(price?.input_micros ?? null);
  const output = cost(price?.output_micros ?? null);
  const facts = [
    vendor,
    window === null ? null : t.window(count(window)),
    input === null || output === null ? null : t.price(input, output),
    card.thinking ? t.thinks : null,
    card.images ? t.images : null,
    card.documents ? t.documents : null,
    card.provider_tools.includes("web_search") ? t.web : null,
  ];
  return facts.filter((fact) => fact !== null);
}
