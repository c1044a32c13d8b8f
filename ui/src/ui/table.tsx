import { Children, createContext, type ReactNode, useContext } from "react";
import { commonStrings } from "@/i18n/en/common";

interface TableProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ReactNode;
}

const Heads = createContext<readonly string[]>([]);
const Column = createContext(0);

/**
 * A plain table that scrolls by itself where it is too wide. On a phone a row is a block: its first
 * cell, and below it the others, each beside the head of its column.
 */
export function Table({ label, heads, children }: TableProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="relative overflow-x-auto rounded-card border border-line"
    >
      <table className="w-full border-collapse text-left text-ui max-sm:block">
        <thead className="max-sm:sr-only">
          <tr className="border-line border-b bg-subtle">
            {heads.map((head) => (
              <th key={head} scope="col" className="h-8 px-3 font-medium text-meta text-muted">
                {head === "" ? <span className="sr-only">{commonStrings.actions}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          <Heads value={heads}>{children}</Heads>
        </tbody>
      </table>
    </section>
  );
}

export function TableRow({ children }: { children: ReactNode }) {
  return (
    <tr className="border-line border-b last:border-b-0 max-sm:block max-sm:py-2">
      {Children.map(children, (cell, index) => (
        <Column value={index}>{cell}</Column>
      ))}
    </tr>
  );
}

export function Cell({ children, end }: { children?: ReactNode; end?: boolean }) {
  const column = useContext(Column);
  const head = useContext(Heads)[column];
  if (end) {
    return (
      <td className="h-10 whitespace-nowrap px-3 text-right max-sm:block max-sm:h-auto max-sm:whitespace-normal max-sm:text-left">
        {children}
      </td>
    );
  }
  if (column === 0) return <td className="h-10 px-3 max-sm:block max-sm:h-auto">{children}</td>;
  return (
    <td className="h-10 px-3 max-sm:grid max-sm:h-auto max-sm:grid-cols-[6rem_minmax(0,1fr)] max-sm:items-baseline max-sm:gap-3 max-sm:py-0.5 max-sm:has-[>div:empty]:hidden">
      <span aria-hidden="true" className="text-muted sm:hidden">
        {head}
      </span>
      <div>{children}</div>
    </td>
  );
}
