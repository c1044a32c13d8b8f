import { useQuery } from "@tanstack/react-query";
import { isSimulatorOnly, type Models as KnownModels, modelsQuery } from "@/api/queries/models";
import { settingsStrings } from "@/i18n/en/settings";
import { count } from "@/lib/format";
import { EmptyState } from "@/ui/empty-state";
import { Cell, Table, TableRow } from "@/ui/table";
import { QueryResult } from "./query-result";
import { Section } from "./section";

const t = settingsStrings;

function windowWords(tokens: number | null | undefined): string {
  return tokens == null ? t.windowUnknown : t.windowOf(count(tokens));
}

export function Models() {
  const query = useQuery(modelsQuery);
  return (
    <Section title={t.sections.models} hint={t.modelsHint}>
      <QueryResult query={query}>
        {(found) =>
          found.models.length === 0 ? (
            <EmptyState title={t.noModels} />
          ) : (
            <>
              <Known {...found} />
              {isSimulatorOnly(found) && (
                <p className="mt-3 text-ui text-muted">
                  {t.simulated} {t.simulatedHow}
                </p>
              )}
            </>
          )
        }
      </QueryResult>
    </Section>
  );
}

function Known({ models, default: usual, windows }: KnownModels) {
  return (
    <Table label={t.sections.models} heads={[t.model, t.window]}>
      {models.map((model) => (
        <TableRow key={model}>
          <Cell>
            <span className="font-mono text-code">{model}</span>
            {model === usual && <span className="ml-2 text-meta text-muted">{t.defaultModel}</span>}
          </Cell>
          <Cell>{windowWords(windows[model])}</Cell>
        </TableRow>
      ))}
    </Table>
  );
}
