import type { SectionSearch } from "./sections";

/** What a section with a table reads from the address, and how it changes it. */
export interface TableAddress {
  readonly search: SectionSearch;
  readonly onSearch: (next: SectionSearch, replace?: boolean) => void;
}

/** The buttons below a table: the page is in the address, so the browser's Back is the previous page. */
export function pagingOf({ search, onSearch }: TableAddress, nextCursor: string | null) {
  return {
    onFirst: search.after === undefined ? null : () => onSearch({ ...search, after: undefined }),
    onNext: nextCursor === null ? null : () => onSearch({ ...search, after: nextCursor }),
  };
}
