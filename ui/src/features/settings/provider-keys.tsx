/** Keys of one's own for providers of models, where an administrator allows them. */
import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { type ProviderKey, providerKeysQuery } from "@/api/queries/provider-keys";
import { useApiMutation } from "@/api/use-api-mutation";
import { settingsStrings as t } from "@/i18n/en/settings";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";
import { Form } from "@/ui/form";
import { TextField } from "@/ui/form-field";
import { showToast } from "@/ui/toast";
import { QueryResult } from "./query-result";
import { Section } from "./section";

export function ProviderKeys() {
  const query = useQuery(providerKeysQuery);
  return (
    <Section title={t.sections["provider-keys"]} hint={t.providerKeysHint}>
      <QueryResult query={query}>
        {({ data: providers }) =>
          providers.length === 0 ? (
            <EmptyState title={t.noProviderKeys} />
          ) : (
            <ul className="flex flex-col rounded-card border border-line">
              {providers.map((provider) => (
                <li
                  key={provider.provider_id}
                  className="flex flex-col gap-2 border-line border-b px-3 py-2 text-ui last:border-b-0"
                >
                  <OneProvider provider={provider} />
                </li>
              ))}
            </ul>
          )
        }
      </QueryResult>
    </Section>
  );
}

function OneProvider({ provider }: { provider: ProviderKey }) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <span className="font-medium">{provider.name}</span>
          <span className="block text-meta text-muted [overflow-wrap:anywhere]">
            {[provider.vendor, stateWords(provider)].join(" · ")}
          </span>
        </div>
        {provider.has_key && <DeleteKey provider={provider} />}
      </div>
      {provider.is_allowed && <NewProviderKey provider={provider} />}
    </>
  );
}

function stateWords({ set_at, is_allowed }: ProviderKey): string {
  if (set_at === null) return t.providerKeyNone;
  const words = t.providerKeySet(new Date(set_at).toLocaleString());
  return is_allowed ? words : `${words} ${t.providerKeyForbidden}`;
}

function NewProviderKey({ provider }: { provider: ProviderKey }) {
  const [key, setKey] = useState("");
  const save = useApiMutation({
    request: () =>
      unwrap(
        api.PUT("/api/v1/provider-keys/{provider_id}", {
          params: { path: { provider_id: provider.provider_id } },
          body: { key },
        }),
      ),
    invalidates: [providerKeysQuery.queryKey],
    onSuccess: () => {
      setKey("");
      showToast(t.saved);
    },
  });
  return (
    <Form
      submission={save}
      onSubmit={() => save.run(undefined)}
      submitLabel={provider.has_key ? t.providerKeyReplace : t.providerKeySave}
      fields={["/key"]}
    >
      <TextField
        label={t.providerKeyOf(provider.name)}
        type="password"
        autoComplete="off"
        required
        maxLength={10_000}
        error={save.fieldErrors["/key"]}
        value={key}
        onChange={(event) => setKey(event.target.value)}
        className="w-64"
      />
    </Form>
  );
}

function DeleteKey({ provider }: { provider: ProviderKey }) {
  const remove = useApiMutation({
    request: () =>
      unwrap(
        api.DELETE("/api/v1/provider-keys/{provider_id}", {
          params: { path: { provider_id: provider.provider_id } },
        }),
      ),
    invalidates: [providerKeysQuery.queryKey],
    onError: (sentence) => showToast(sentence, "danger"),
  });
  return (
    <AlertDialog
      trigger={
        <Button size="small" aria-label={t.providerKeyDeleteOf(provider.name)}>
          {t.providerKeyDelete}
        </Button>
      }
      title={t.providerKeyDeleteTitle(provider.name)}
      description={t.providerKeyDeleteHint}
      confirm={t.providerKeyDelete}
      onConfirm={() => remove.run(undefined)}
    />
  );
}
