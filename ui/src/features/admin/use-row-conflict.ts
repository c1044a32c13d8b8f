/** After a refusal: what another administrator changed in a row of a list, compared with what was seen. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import {
  type ModelEntry,
  modelEntriesQuery,
  type Provider,
  providersQuery,
} from "@/api/queries/admin";
import { adminStrings as t } from "@/i18n/en/admin";
import { showToast } from "@/ui/toast";
import { changedWords, type Difference, differences, type Words } from "./differences";

const PROVIDER_WORDS: Words<Provider> = {
  name: [t.providerName],
  vendor: [t.vendor],
  base_url: [t.baseUrl],
  key_fingerprint: [t.key, (fingerprint) => fingerprint ?? t.noKey],
  is_enabled: [t.isEnabled],
  user_keys: [t.userKeys],
  settings: [t.sections.settings],
};

const MODEL_WORDS: Words<ModelEntry> = {
  name: [t.byName],
  is_enabled: [t.isEnabled],
  is_default: [t.default],
  settings: [t.sections.settings],
};

interface Row {
  readonly id: string | null;
  readonly name: string;
}

/** Null: the row was removed, and a toast says so. */
async function compared<T extends Row>(
  seen: T,
  found: Promise<{ data: T[] }>,
  words: Words<T>,
): Promise<readonly Difference[] | null> {
  const there = (await found).data.find((row) => row.id === seen.id);
  if (there !== undefined) return differences(seen, there, words);
  showToast(t.removedMeanwhile(seen.name), "danger");
  return null;
}

function tell(seen: Row, found: readonly Difference[] | null) {
  if (found === null) return;
  const words = found.length === 0 ? t.changedUnseen : changedWords(found);
  showToast(t.changedMeanwhile(seen.name, words), "danger");
}

const providersNow = (client: QueryClient) =>
  client.fetchQuery({ ...providersQuery, staleTime: 0 });

export function useProviderConflict(seen: Provider) {
  const client = useQueryClient();
  const look = () => compared(seen, providersNow(client), PROVIDER_WORDS);
  return { look, tell: async () => tell(seen, await look()) };
}

export function useModelConflict(seen: ModelEntry) {
  const client = useQueryClient();
  return async () => {
    const now = client.fetchQuery({ ...modelEntriesQuery, staleTime: 0 });
    tell(seen, await compared(seen, now, MODEL_WORDS));
  };
}
