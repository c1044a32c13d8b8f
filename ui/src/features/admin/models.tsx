/** Providers and models: those of the models file, read-only, and those that were added here. */
import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import {
  CATALOGUE_KEY,
  type ModelEntry,
  modelEntriesQuery,
  type Provider,
  providersQuery,
} from "@/api/queries/admin";
import { modelsQuery } from "@/api/queries/models";
import { ifMatch } from "@/api/queries/settings";
import { useApiMutation } from "@/api/use-api-mutation";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { cn } from "@/lib/classes";
import { elapsed } from "@/lib/format";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";
import { Switch } from "@/ui/switch";
import { Cell, Table, TableRow } from "@/ui/table";
import { showToast } from "@/ui/toast";
import { DiscoverDialog } from "./discover-dialog";
import { KeyDialog } from "./key-dialog";
import { NewProvider } from "./new-provider";
import { useModelConflict, useProviderConflict } from "./use-row-conflict";

/** What a change of the catalogue makes old: the lists here, and the models of the composer. */
const CHANGED = [CATALOGUE_KEY, modelsQuery.queryKey, ["admin", "overview"]] as const;

export function Models() {
  const providers = useQuery(providersQuery);
  const models = useQuery(modelEntriesQuery);
  const [searched, setSearched] = useState<Provider | null>(null);
  return (
    <Section title={t.sections.models} hint={t.modelsHint}>
      <NewProvider changes={CHANGED} onAdded={setSearched} />
      <QueryResult query={providers}>
        {({ data }) => <Providers providers={data} onFind={setSearched} />}
      </QueryResult>
      <QueryResult query={models}>
        {({ data }) => <ModelList models={data} providers={providers.data?.data ?? []} />}
      </QueryResult>
      {searched !== null && (
        <DiscoverDialog provider={searched} changes={CHANGED} onClose={() => setSearched(null)} />
      )}
    </Section>
  );
}

interface ProvidersProps {
  readonly providers: readonly Provider[];
  readonly onFind: (provider: Provider) => void;
}

function Providers({ providers, onFind }: ProvidersProps) {
  return (
    <div>
      <h3 className="mb-2 font-medium text-meta text-muted">{t.providers}</h3>
      {providers.length === 0 ? (
        <p className="text-muted text-ui">{t.noProviders}</p>
      ) : (
        <ul className="flex flex-col rounded-card border border-line">
          {providers.map((provider) => (
            <li
              key={provider.id}
              className="flex flex-wrap items-center gap-x-3 gap-y-2 border-line border-b px-3 py-2 text-ui last:border-b-0"
            >
              <ProviderWords provider={provider} />
              <ProviderActions provider={provider} onFind={onFind} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function ProviderWords({ provider }: { provider: Provider }) {
  const key =
    provider.key_last_four !== null
      ? t.keyEnds(provider.key_last_four)
      : provider.has_key
        ? t.hasKey
        : t.noKey;
  const more = [provider.vendor, provider.base_url, key].filter((each) => each !== "");
  return (
    <div className="min-w-0 flex-1 basis-56">
      <span className="font-medium">{provider.name}</span>
      {!provider.is_enabled && <span className="text-faint"> · {t.disabled}</span>}
      <span className="block text-meta text-muted [overflow-wrap:anywhere]">
        {more.join(" · ")}
      </span>
    </div>
  );
}

function ProviderActions({
  provider,
  onFind,
}: { provider: Provider } & Omit<ProvidersProps, "providers">) {
  const params = { path: { provider_id: provider.id }, header: ifMatch(provider.etag) };
  const conflict = useProviderConflict(provider);
  const onError = (sentence: string) => showToast(sentence, "danger");
  const change = useApiMutation({
    request: (body: { is_enabled: boolean } | { user_keys: boolean }) =>
      unwrap(
        api.PATCH("/api/v1/organization/providers/{provider_id}", {
          params,
          body: { ...body, settings: {} },
        }),
      ),
    invalidates: CHANGED,
    onError,
    onConflict: conflict.tell,
  });
  const remove = useApiMutation({
    request: () => unwrap(api.DELETE("/api/v1/organization/providers/{provider_id}", { params })),
    invalidates: CHANGED,
    onError,
    onConflict: conflict.tell,
  });
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        size="small"
        aria-label={t.findModelsOf(provider.name)}
        onClick={() => onFind(provider)}
      >
        {t.findModels}
      </Button>
      <KeyDialog provider={provider} changes={CHANGED} />
      {provider.is_enabled ? (
        <AlertDialog
          trigger={<Button size="small">{t.disable}</Button>}
          title={t.disableProviderTitle(provider.name)}
          description={t.disableProviderHint}
          confirm={t.disable}
          onConfirm={() => change.run({ is_enabled: false })}
        />
      ) : (
        <Button
          size="small"
          aria-disabled={change.isPending}
          onClick={() => change.run({ is_enabled: true })}
        >
          {t.enable}
        </Button>
      )}
      <AlertDialog
        trigger={
          <Button size="small" aria-label={t.deleteProviderOf(provider.name)}>
            {t.deleteProvider}
          </Button>
        }
        title={t.deleteProviderTitle(provider.name)}
        description={t.deleteProviderHint}
        confirm={t.deleteProvider}
        onConfirm={() => remove.run(undefined)}
      />
      <Switch
        label={t.userKeysOf(provider.name)}
        checked={provider.user_keys}
        onChange={(user_keys) => change.run({ user_keys })}
      />
    </div>
  );
}

interface ModelListProps {
  readonly models: readonly ModelEntry[];
  readonly providers: readonly Provider[];
}

function ModelList({ models, providers }: ModelListProps) {
  const names = new Map(providers.map((each) => [each.id, each.name]));
  return (
    <div>
      <h3 className="mb-2 font-medium text-meta text-muted">{t.modelList}</h3>
      {models.length === 0 ? (
        <EmptyState title={t.noModels} />
      ) : (
        <Table label={t.modelList} heads={[t.model, t.provider, t.state, ""]}>
          {models.map((model) => (
            <ModelRow
              key={model.id ?? model.name}
              model={model}
              provider={
                model.provider_id === null ? t.fromFile : (names.get(model.provider_id) ?? "")
              }
            />
          ))}
        </Table>
      )}
    </div>
  );
}

function ModelRow({ model, provider }: { model: ModelEntry; provider: string }) {
  const [tried, setTried] = useState<{ failure: string | null; took_ms: number } | null>(null);
  const test = useApiMutation({
    request: (id: string) =>
      unwrap(
        api.POST("/api/v1/organization/models/{model_id}/test", {
          params: { path: { model_id: id } },
        }),
      ),
    onSuccess: setTried,
    onError: (sentence) => setTried({ failure: sentence, took_ms: 0 }),
  });
  const { id } = model;
  return (
    <TableRow>
      <Cell>
        <span className="font-mono text-code [overflow-wrap:anywhere]">{model.name}</span>
        {model.is_default && <span className="ml-2 text-meta text-muted">{t.default}</span>}
      </Cell>
      <Cell>{provider}</Cell>
      <Cell>
        <span className={cn("block", model.state !== "available" && "text-warn")}>
          {t.states[model.state]}
        </span>
        <span role="status" className="block max-w-96 text-meta">
          {test.isPending ? (
            <span className="text-muted">{t.testing}</span>
          ) : (
            tried !== null && (
              <span className={tried.failure === null ? "text-ok" : "text-danger"}>
                {tried.failure ?? t.answered(elapsed(tried.took_ms))}
              </span>
            )
          )}
        </span>
      </Cell>
      <Cell end>
        {id !== null && (
          <span className="inline-flex flex-wrap gap-2 py-1">
            <Button
              size="small"
              aria-label={t.testOf(model.name)}
              aria-disabled={test.isPending}
              onClick={() => test.run(id)}
            >
              {t.test}
            </Button>
            <ModelActions id={id} model={model} />
          </span>
        )}
      </Cell>
    </TableRow>
  );
}

function ModelActions({ id, model }: { id: string; model: ModelEntry }) {
  const params = { path: { model_id: id }, header: ifMatch(model.etag) };
  const onConflict = useModelConflict(model);
  const onError = (sentence: string) => showToast(sentence, "danger");
  const change = useApiMutation({
    request: (body: { is_enabled: boolean } | { is_default: true }) =>
      unwrap(
        api.PATCH("/api/v1/organization/models/{model_id}", {
          params,
          body: { settings: {}, ...body },
        }),
      ),
    invalidates: CHANGED,
    onError,
    onConflict,
  });
  const remove = useApiMutation({
    request: () => unwrap(api.DELETE("/api/v1/organization/models/{model_id}", { params })),
    invalidates: CHANGED,
    onError,
    onConflict,
  });
  return (
    <>
      {!model.is_default && (
        <Button
          size="small"
          aria-disabled={change.isPending}
          onClick={() => change.run({ is_default: true })}
        >
          {t.makeDefault}
        </Button>
      )}
      <Button
        size="small"
        aria-disabled={change.isPending}
        onClick={() => change.run({ is_enabled: !model.is_enabled })}
      >
        {model.is_enabled ? t.disable : t.enable}
      </Button>
      <AlertDialog
        trigger={<Button size="small">{t.deleteModel}</Button>}
        title={t.deleteModelTitle(model.name)}
        description={t.deleteModelHint}
        confirm={t.deleteModel}
        onConfirm={() => remove.run(undefined)}
      />
    </>
  );
}
