/** How the server is: checks, what waits, workers. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { type Overview, overviewQuery } from "@/api/queries/admin";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { cn } from "@/lib/classes";
import { elapsed } from "@/lib/format";
import { EmptyState } from "@/ui/empty-state";
import { Cell, Table, TableRow } from "@/ui/table";

export function OverviewSection() {
  const query = useQuery(overviewQuery);
  return (
    <Section title={t.sections.overview} hint={query.data && t.version(query.data.version)}>
      <QueryResult query={query}>
        {(overview) => (
          <div className="flex flex-col gap-6">
            <Checks checks={overview.checks} />
            <Numbers overview={overview} />
            <Workers workers={overview.workers} />
          </div>
        )}
      </QueryResult>
    </Section>
  );
}

function Heading({ children }: { children: string }) {
  return <h3 className="mb-2 font-medium text-meta text-muted">{children}</h3>;
}

function Checks({ checks }: Pick<Overview, "checks">) {
  return (
    <div>
      <Heading>{t.checks}</Heading>
      <ul className="flex flex-col rounded-card border border-line">
        {checks.map((check) => {
          const Icon = check.ok ? CircleCheck : TriangleAlert;
          return (
            <li
              key={check.name}
              className="flex items-start gap-2 border-line border-b px-3 py-2 text-ui last:border-b-0"
            >
              <Icon
                role="img"
                aria-label={check.ok ? t.checkOk : t.checkNotOk}
                className={cn("mt-0.5 size-4 shrink-0", check.ok ? "text-ok" : "text-warn")}
              />
              <span className="w-24 shrink-0 font-medium">
                {t.checkNames[check.name as keyof typeof t.checkNames] ?? check.name}
              </span>
              <span className="min-w-0 text-muted">{check.detail}</span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Numbers({ overview }: { overview: Overview }) {
  const { chats } = overview;
  const oldest =
    chats.oldest_waiting_seconds === null
      ? null
      : t.oldest(elapsed(chats.oldest_waiting_seconds * 1000));
  const rows: [string, number, string | null][] = [
    [t.driven, chats.driven, null],
    [t.waiting, chats.waiting, oldest],
    [t.awaiting, chats.awaiting, null],
    [t.users, overview.users, null],
    [t.models, overview.models, overview.has_real_model ? null : t.simulatorOnly],
  ];
  return (
    <div>
      <Heading>{t.now}</Heading>
      <dl className="grid grid-cols-1 gap-x-6 rounded-card border border-line px-3 py-1 sm:grid-cols-2">
        {rows.map(([name, number, more]) => (
          <div key={name} className="flex items-baseline justify-between gap-3 py-1.5 text-ui">
            <dt className="text-muted">
              {name}
              {more !== null && <span className="block text-meta">{more}</span>}
            </dt>
            <dd className="font-medium tabular-nums">{number}</dd>
          </div>
        ))}
      </dl>
      {!overview.has_real_model && (
        <Link
          to="/admin/$section"
          params={{ section: "models" }}
          className="mt-2 inline-flex min-h-8 items-center text-accent text-ui underline underline-offset-2 coarse:min-h-11"
        >
          {t.addModel}
        </Link>
      )}
    </div>
  );
}

function Workers({ workers }: Pick<Overview, "workers">) {
  return (
    <div>
      <Heading>{t.workers}</Heading>
      {workers.length === 0 ? (
        <EmptyState title={t.noWorkers} />
      ) : (
        <Table label={t.workers} heads={[t.worker, t.state, t.chats, t.started]}>
          {workers.map((worker) => (
            <TableRow key={`${worker.name} ${worker.started_at}`}>
              <Cell>
                <span className="font-mono text-code">{worker.name}</span>
              </Cell>
              <Cell>
                <span className={worker.is_alive ? undefined : "text-danger"}>
                  {worker.is_alive ? t.alive : t.lost}
                </span>
              </Cell>
              <Cell>{worker.chats}</Cell>
              <Cell>{new Date(worker.started_at).toLocaleString()}</Cell>
            </TableRow>
          ))}
        </Table>
      )}
    </div>
  );
}
