/** What was done in the organisation, with names and filters. */
import { useQuery } from "@tanstack/react-query";
import { type AuditEntry, auditQuery } from "@/api/queries/audit";
import { usersQuery } from "@/api/queries/users";
import { pagingOf, type TableAddress } from "@/features/settings/paging";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { DataTable } from "@/ui/data-table";
import { EmptyState } from "@/ui/empty-state";
import { FormField, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";
import type { AdminSearch } from "./sections";

type AdminAddress = TableAddress<AdminSearch>;

const Id = ({ children }: { children: string }) => (
  <span className="font-mono text-code text-muted">{children}</span>
);

function shortId(id: string): string {
  return id.length > 16 ? `${id.slice(0, 5)}…${id.slice(-6)}` : id;
}

function actor(entry: AuditEntry) {
  if (entry.actor_id === null) return t.server;
  return entry.actor_name ?? <Id>{shortId(entry.actor_id)}</Id>;
}

function target(entry: AuditEntry) {
  if (entry.target_id === null) return null;
  return entry.target_name ?? <Id>{shortId(entry.target_id)}</Id>;
}

const COLUMNS = [
  {
    header: t.time,
    cell: (entry: AuditEntry) => (
      <span className="whitespace-nowrap">{new Date(entry.created_at).toLocaleString()}</span>
    ),
  },
  { header: t.done, cell: (entry: AuditEntry) => entry.action },
  { header: t.actor, cell: actor },
  { header: t.target, cell: target },
  { header: t.details, cell: (entry: AuditEntry) => <Details entry={entry} /> },
];

function Details({ entry }: { entry: AuditEntry }) {
  const rows = Object.entries(entry.detail).filter(([, value]) => value !== null && value !== "");
  const address = entry.ip_address;
  if (rows.length === 0 && address === null) return null;
  return (
    <details>
      <summary
        aria-label={t.showDetails(entry.seq)}
        className="flex min-h-6 cursor-default items-center text-muted coarse:min-h-11"
      >
        {t.show}
      </summary>
      <dl className="max-w-96 py-1 text-meta">
        {address !== null && <Row name={t.address} value={address} />}
        {rows.map(([name, value]) => (
          <Row
            key={name}
            name={name}
            value={typeof value === "string" ? value : JSON.stringify(value)}
          />
        ))}
      </dl>
    </details>
  );
}

function Row({ name, value }: { name: string; value: string }) {
  return (
    <div className="py-0.5">
      <dt className="text-muted">{name}</dt>
      <dd className="font-mono [overflow-wrap:anywhere]">{value}</dd>
    </div>
  );
}

/** The bounds of a day on this machine, as the server reads times. */
function startOf(day: string | undefined, add = 0): string | undefined {
  if (day === undefined) return undefined;
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + add);
  return at.toISOString();
}

export function Audit(address: AdminAddress) {
  const { after, kind, by, from, to } = address.search;
  const query = useQuery(
    auditQuery({
      cursor: after,
      action: kind,
      actor_id: by,
      since: startOf(from),
      until: startOf(to, 1),
    }),
  );
  const isFiltered = [kind, by, from, to].some((each) => each !== undefined);
  return (
    <Section title={t.sections.audit} hint={t.auditHint}>
      <Filters {...address} />
      <QueryResult query={query}>
        {({ data: entries, next_cursor }) =>
          entries.length === 0 && next_cursor === null ? (
            <EmptyState title={isFiltered ? t.noMatches : t.noEntries} />
          ) : (
            <DataTable
              label={t.sections.audit}
              columns={COLUMNS}
              rows={entries}
              rowKey={(entry) => entry.seq}
              paging={pagingOf(address, next_cursor)}
            />
          )
        }
      </QueryResult>
    </Section>
  );
}

function Filters({ search, onSearch }: AdminAddress) {
  const people = useQuery(usersQuery({ limit: 200 })).data?.data ?? [];
  const change = (next: Partial<AdminAddress["search"]>) =>
    onSearch({ ...search, ...next, after: undefined });
  const chosen = (value: string) => (value === "" ? undefined : value);
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <FormField label={t.kind}>
        {(control) => (
          <Select
            {...control}
            value={search.kind ?? ""}
            options={[["", t.allKinds], ...Object.entries(t.kindNames)]}
            onChange={(kind) => change({ kind: chosen(kind) })}
          />
        )}
      </FormField>
      <FormField label={t.byWhom}>
        {(control) => (
          <Select
            {...control}
            value={search.by ?? ""}
            options={[["", t.allPeople], ...people.map((each) => [each.id, each.name] as const)]}
            onChange={(by) => change({ by: chosen(by) })}
          />
        )}
      </FormField>
      <TextField
        label={t.from}
        type="date"
        value={search.from ?? ""}
        onChange={(event) => change({ from: chosen(event.target.value) })}
      />
      <TextField
        label={t.to}
        type="date"
        value={search.to ?? ""}
        onChange={(event) => change({ to: chosen(event.target.value) })}
      />
    </div>
  );
}
