import { useQuery } from "@tanstack/react-query";
import { modelsQuery } from "@/app/me";
import { Blank } from "@/kit/state";
import { Cell, Line, Table } from "@/kit/table";
import { count } from "@/parts/format";
import { words } from "@/words";
import { Loaded } from "./loaded";
import { Section } from "./section";

const says = words.settings;

function windowWords(tokens: number | null | undefined): string {
  return tokens == null ? says.windowUnknown : says.windowOf(count(tokens));
}

export function Models() {
  const query = useQuery(modelsQuery);
  return (
    <Section title={says.models} hint={says.modelsHint}>
      <Loaded query={query}>
        {({ models, default: usual, windows }) =>
          models.length === 0 ? (
            <Blank title={says.noModels} />
          ) : (
            <Table label={says.models} heads={[says.model, says.window]}>
              {models.map((model) => (
                <Line key={model}>
                  <Cell>
                    <span className="font-mono text-code">{model}</span>
                    {model === usual && (
                      <span className="ml-2 text-meta text-muted">{says.defaultModel}</span>
                    )}
                  </Cell>
                  <Cell>{windowWords(windows[model])}</Cell>
                </Line>
              ))}
            </Table>
          )
        }
      </Loaded>
    </Section>
  );
}
