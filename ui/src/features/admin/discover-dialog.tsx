/** The list of models that a provider has: what is ticked is added. */
import { ApiError, errorMessage, unwrap } from "@holdfast/client";
import { type QueryKey, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import type { Discovered, Provider } from "@/api/queries/admin";
import { useApiMutation } from "@/api/use-api-mutation";
import { adminStrings as t } from "@/i18n/en/admin";
import { count } from "@/lib/format";
import { Checkbox } from "@/ui/checkbox";
import { Dialog } from "@/ui/dialog";
import { Form } from "@/ui/form";
import { inputStyle, TextField } from "@/ui/form-field";
import { showToast } from "@/ui/toast";

interface DiscoverDialogProps {
  readonly provider: Provider;
  readonly changes: readonly QueryKey[];
  readonly onClose: () => void;
}

export function DiscoverDialog({ provider, changes, onClose }: DiscoverDialogProps) {
  const params = { path: { provider_id: provider.id } };
  const query = useQuery({
    queryKey: ["admin", "discover", provider.id, provider.key_fingerprint],
    queryFn: ({ signal }) =>
      unwrap(api.POST("/api/v1/organization/providers/{provider_id}/discover", { params, signal })),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [typed, setTyped] = useState("");
  const wanted = [...chosen, ...(typed.trim() === "" ? [] : [typed.trim()])];
  const add = useApiMutation({
    request: async (models: readonly string[]) => {
      for (const model of models) await addModel(provider, model);
      return models.length;
    },
    invalidates: changes,
    onSuccess: (added) => {
      showToast(t.modelsAdded(added));
      onClose();
    },
  });
  const failure = query.isError ? errorMessage(query.error) : query.data?.failure;
  const choose = (id: string, isChosen: boolean) => {
    const others = [...chosen].filter((each) => each !== id);
    setChosen(new Set(isChosen ? [...others, id] : others));
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={t.findModelsOf(provider.name)}
    >
      <div className="flex flex-col gap-3">
        {query.isPending && (
          <p role="status" className="text-muted text-ui">
            {t.asking}
          </p>
        )}
        {failure && (
          <p role="alert" className="text-danger text-ui [overflow-wrap:anywhere]">
            {failure}
          </p>
        )}
        {query.data && query.data.data.length > 0 && (
          <Listed models={query.data.data} chosen={chosen} onChoose={choose} />
        )}
        {!query.isPending && (
          <Form
            submission={add}
            onSubmit={() => wanted.length > 0 && add.run(wanted)}
            submitLabel={t.addModels(wanted.length)}
            fields={[]}
            layout="column"
          >
            <TextField
              label={t.byName}
              hint={t.byNameHint}
              autoComplete="off"
              maxLength={200}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </Form>
        )}
      </div>
    </Dialog>
  );
}

interface ListedProps {
  readonly models: readonly Discovered[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (id: string, isChosen: boolean) => void;
}

function Listed({ models, chosen, onChoose }: ListedProps) {
  const [filter, setFilter] = useState("");
  const shown = models.filter((each) =>
    each.id.toLowerCase().includes(filter.trim().toLowerCase()),
  );
  return (
    <>
      <input
        type="search"
        aria-label={t.filterModels}
        placeholder={t.filterModels}
        value={filter}
        onChange={(event) => setFilter(event.target.value)}
        className={inputStyle}
      />
      <ul
        aria-label={t.modelList}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-[36dvh] overflow-y-auto rounded-card border border-line px-3"
      >
        {shown.length === 0 && <li className="py-2 text-muted text-ui">{t.noneFound}</li>}
        {shown.map((model) => (
          <li key={model.id} className="flex flex-wrap items-center justify-between gap-x-3">
            <Checkbox
              label={model.id}
              checked={model.is_added || chosen.has(model.id)}
              disabled={model.is_added}
              onChange={(isChosen) => onChoose(model.id, isChosen)}
            />
            <span className="text-meta text-muted">
              {model.is_added
                ? t.added
                : model.context_window !== null && t.tokens(count(model.context_window))}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** By its own name, or, where another provider has a model of this name, by both names. A repeat after a
 * lost answer finds the name taken by itself. */
async function addModel(provider: Provider, model: string): Promise<void> {
  const put = (name: string) =>
    unwrap(
      api.POST("/api/v1/organization/models", {
        body: {
          name,
          provider_id: provider.id,
          is_enabled: true,
          is_default: false,
          settings: { model },
        },
      }),
    );
  try {
    await put(model);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "name_taken")) throw error;
    await put(`${provider.name}/${model}`);
  }
}
