import { useQuery } from "@tanstack/react-query";
import { type AuditEntry, auditQuery } from "@/api/queries/audit";
import { settingsStrings as t } from "@/i18n/en/settings";
import { DataTable } from "@/ui/data-table";
import { EmptyState } from "@/ui/empty-state";
import { pagingOf, type TableAddress } from "./paging";
import { QueryResult } from "./query-result";
import { Section } from "./section";

const Id = ({ children }: { children: string }) => (
  <span className="font-mono text-code text-muted">{children}</span>
);

const COLUMNS = [
  { header: t.time, cell: (entry: AuditEntry) => new Date(entry.created_at).toLocaleString() },
  { header: t.action, cell: (entry: AuditEntry) => entry.action },
  {
    header: t.actor,
    cell: (entry: AuditEntry) => (entry.actor_id === null ? t.server : <Id>{entry.actor_id}</Id>),
  },
  {
    header: t.target,
    cell: (entry: AuditEntry) => entry.target_id !== null && <Id>{entry.target_id}</Id>,
  },
];

export function AuditLog(address: TableAddress) {
  const query = useQuery(auditQuery(address.search.after));
  return (
    <Section title={t.sections["audit-log"]} hint={t.auditHint}>
      <QueryResult query={query}>
        {({ data: entries, next_cursor }) =>
          entries.length === 0 ? (
            <EmptyState title={t.noEntries} />
          ) : (
            <DataTable
              label={t.sections["audit-log"]}
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
