import { toolStrings } from "@/i18n/en/tools";
import { type Arguments, type ExactArguments, shownArgument } from "./call";
import { Revealed } from "./revealed";

interface ArgumentListProps {
  given: Arguments;
  exact: ExactArguments;
}

/** The exact arguments of a call: text as it is, everything else as JSON. */
export function ArgumentList({ given, exact }: ArgumentListProps) {
  const entries = Object.entries(given);
  if (entries.length === 0)
    return <p className="text-meta text-muted">{toolStrings.body.noArguments}</p>;
  return (
    <dl className="grid grid-cols-1 gap-x-3 gap-y-1 sm:grid-cols-[minmax(4rem,max-content)_1fr]">
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-meta leading-5 text-muted">
            <Revealed text={name} />
          </dt>
          <dd className="max-h-60 min-w-0 overflow-auto">
            <Revealed text={shownArgument(name, value, exact)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
