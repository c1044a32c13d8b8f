/** A table of one page of rows from the server. The order is the server's; the page is in the URL. */
import type { Key, ReactNode } from "react";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "./button";
import { Cell, Table, TableRow } from "./table";

interface Column<T> {
  /** Empty: the column of buttons. */
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
}

interface Paging {
  /** Null: this is the first page. */
  readonly onFirst: (() => void) | null;
  /** Null: this is the last page. */
  readonly onNext: (() => void) | null;
}

interface DataTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => Key;
  readonly paging: Paging;
}

export function DataTable<T>({ label, columns, rows, rowKey, paging }: DataTableProps<T>) {
  const { onFirst, onNext } = paging;
  return (
    <div className="flex flex-col gap-2">
      <Table label={label} heads={columns.map((column) => column.header)}>
        {rows.map((row) => (
          <TableRow key={rowKey(row)}>
            {columns.map((column) => (
              <Cell key={column.header} end={column.header === ""}>
                {column.cell(row)}
              </Cell>
            ))}
          </TableRow>
        ))}
      </Table>
      {(onFirst !== null || onNext !== null) && (
        <nav aria-label={commonStrings.pages(label)} className="flex justify-end gap-2">
          <Button size="small" disabled={onFirst === null} onClick={onFirst ?? undefined}>
            {commonStrings.firstPage}
          </Button>
          <Button size="small" disabled={onNext === null} onClick={onNext ?? undefined}>
            {commonStrings.nextPage}
          </Button>
        </nav>
      )}
    </div>
  );
}
