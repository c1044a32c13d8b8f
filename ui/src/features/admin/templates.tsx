/** The kinds of workspaces that the server offers. */
import { useQuery } from "@tanstack/react-query";
import { templatesQuery } from "@/api/queries/models";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { elapsed } from "@/lib/format";
import { EmptyState } from "@/ui/empty-state";
import { Cell, Table, TableRow } from "@/ui/table";

export function Templates() {
  const query = useQuery(templatesQuery);
  return (
    <Section title={t.sections.templates} hint={t.templatesHint}>
      <QueryResult query={query}>
        {({ data: templates }) =>
          templates.length === 0 ? (
            <EmptyState title={t.noTemplates} />
          ) : (
            <Table label={t.sections.templates} heads={[t.name, t.description, t.stopsAfter]}>
              {templates.map((template, index) => (
                <TableRow key={template.name}>
                  <Cell>
                    <span className="font-mono text-code">{template.name}</span>
                    {index === 0 && <span className="ml-2 text-meta text-muted">{t.default}</span>}
                  </Cell>
                  <Cell>{template.description}</Cell>
                  <Cell>
                    {template.ttl_seconds === null
                      ? t.neverStops
                      : elapsed(template.ttl_seconds * 1000)}
                  </Cell>
                </TableRow>
              ))}
            </Table>
          )
        }
      </QueryResult>
    </Section>
  );
}
