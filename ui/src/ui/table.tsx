import type { ReactNode } from "react";
import { commonStrings } from "@/i18n/en/common";

interface TableProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ReactNode;
}

/** A plain table that scrolls by itself where it is too wide. */
export function Table({ label, heads, children }: TableProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-card border border-line"
    >
      <table className="w-full border-collapse text-left text-ui">
        <thead>
          <tr className="border-line border-b bg-subtle">
            {heads.map((head) => (
              <th key={head} scope="col" className="h-8 px-3 font-medium text-meta text-muted">
                {head === "" ? <span className="sr-only">{commonStrings.actions}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

export function TableRow({ children }: { children: ReactNode }) {
  return <tr className="border-line border-b last:border-b-0">{children}</tr>;
}

export function Cell({ children, end }: { children?: ReactNode; end?: boolean }) {
  return <td className={`h-10 px-3 ${end ? "text-right whitespace-nowrap" : ""}`}>{children}</td>;
}
