import { type components, unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { KEYS_KEY, type Key, keysQuery } from "@/api/queries/keys";
import { useApiMutation } from "@/api/use-api-mutation";
import { commonStrings } from "@/i18n/en/common";
import { settingsStrings as t } from "@/i18n/en/settings";
import { copy } from "@/lib/clipboard";
import { useClock } from "@/lib/clock";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { Checkbox } from "@/ui/checkbox";
import { DataTable } from "@/ui/data-table";
import { EmptyState } from "@/ui/empty-state";
import { Form } from "@/ui/form";
import { TextField } from "@/ui/form-field";
import { showToast } from "@/ui/toast";
import { pagingOf, type TableAddress } from "./paging";
import { QueryResult } from "./query-result";
import { Section } from "./section";

type Scope = Key["scopes"][number];

export function Keys(address: TableAddress) {
  const query = useQuery(keysQuery(address.search.after));
  return (
    <Section title={t.sections["api-keys"]} hint={t.keysHint}>
      <NewKey />
      <QueryResult query={query}>
        {({ data: keys, next_cursor }) =>
          keys.length === 0 ? (
            <EmptyState title={t.noKeys} />
          ) : (
            <DataTable
              label={t.sections["api-keys"]}
              columns={COLUMNS}
              rows={keys}
              rowKey={(key) => key.id}
              paging={pagingOf(address, next_cursor)}
            />
          )
        }
      </QueryResult>
    </Section>
  );
}

/** When a key stops, or stopped. */
function End({ of: key }: { of: Key }) {
  const now = useClock().now();
  if (key.expires_at === null) return t.keyNeverEnds;
  const end = new Date(key.expires_at);
  const day = end.toLocaleDateString();
  return (
    <time dateTime={key.expires_at} title={end.toLocaleString()}>
      {end.getTime() <= now ? t.keyEnded(day) : day}
    </time>
  );
}

const COLUMNS = [
  {
    header: t.name,
    cell: (key: Key) => (
      <>
        {key.name} <span className="font-mono text-code text-faint">{key.prefix}…</span>
      </>
    ),
  },
  {
    header: t.scopes,
    cell: (key: Key) => key.scopes.map((scope) => t.scopeNames[scope]).join(", "),
  },
  { header: t.made, cell: (key: Key) => new Date(key.created_at).toLocaleDateString() },
  {
    header: t.used,
    cell: (key: Key) =>
      key.last_used_at === null ? t.never : new Date(key.last_used_at).toLocaleDateString(),
  },
  { header: t.keyEnds, cell: (key: Key) => <End of={key} /> },
  { header: "", cell: (key: Key) => <Revoke of={key} /> },
];

function Revoke({ of: key }: { of: Key }) {
  const revoke = useApiMutation({
    request: () =>
      unwrap(
        api.DELETE("/api/v1/api-keys/{api_key_id}", {
          params: { path: { api_key_id: key.id } },
        }),
      ),
    invalidates: [KEYS_KEY],
    onError: (sentence) => showToast(sentence, "danger"),
  });
  if (key.revoked_at !== null) return <span className="text-faint">{t.revoked}</span>;
  return (
    <AlertDialog
      trigger={
        <Button size="small" aria-label={t.revokeKey(key.name)} aria-disabled={revoke.isPending}>
          {t.revoke}
        </Button>
      }
      title={t.revokeTitle(key.name)}
      description={t.revokeHint}
      confirm={t.revoke}
      onConfirm={() => revoke.run(undefined)}
    />
  );
}

type MadeKey = components["schemas"]["CreatedApiKey"];

const OFFERED: readonly Scope[] = ["read", "write", "approve"];

function NewKey() {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set(["read", "write"]));
  const [made, setMade] = useState<MadeKey | null>(null);

  const make = useApiMutation({
    request: (_: undefined, header) => {
      const body = { name, scopes: OFFERED.filter((each) => scopes.has(each)) };
      return unwrap(api.POST("/api/v1/api-keys", { params: { header }, body }));
    },
    invalidates: [KEYS_KEY],
    onSuccess: (answer) => {
      setMade(answer);
      setName("");
    },
  });
  const choose = (scope: Scope, isChosen: boolean) => {
    const others = [...scopes].filter((each) => each !== scope);
    setScopes(new Set(isChosen ? [...others, scope] : others));
  };
  return (
    <>
      <Form
        submission={make}
        onSubmit={() => make.run(undefined)}
        submitLabel={t.make}
        fields={["/name"]}
      >
        <TextField
          label={t.keyName}
          required
          maxLength={200}
          error={make.fieldErrors["/name"]}
          value={name}
          onChange={(event) => setName(event.target.value)}
          className="w-64"
        />
        <fieldset>
          <legend className="mb-1 font-medium text-meta text-muted">{t.scopes}</legend>
          <div className="flex gap-4">
            {OFFERED.map((scope) => (
              <Checkbox
                key={scope}
                label={t.scopeNames[scope]}
                checked={scopes.has(scope)}
                onChange={(isChosen) => choose(scope, isChosen)}
              />
            ))}
          </div>
        </fieldset>
      </Form>
      {made !== null && (
        <div role="status" className="rounded-card border border-ok p-3">
          <p className="mb-2 text-ui">
            {t.secret}{" "}
            {made.expires_at !== null && t.keyLife(new Date(made.expires_at).toLocaleDateString())}
          </p>
          <div className="flex items-center gap-2">
            <code className="min-w-0 flex-1 font-mono text-code break-all select-all">
              {made.secret}
            </code>
            <Button
              size="small"
              onClick={async () =>
                showToast(
                  (await copy(made.secret)) ? commonStrings.copied : commonStrings.copyBlocked,
                )
              }
            >
              {commonStrings.copy}
            </Button>
          </div>
        </div>
      )}
    </>
  );
}
