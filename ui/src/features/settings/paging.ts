import type { SectionSearch } from "./sections";

/** What a section with a table reads from the address, and how it changes it. */
export interface TableAddress<S extends { readonly after?: string } = SectionSearch> {
  readonly search: S;
  readonly onSearch: (next: S, replace?: boolean) => void;
}

/** The buttons below a table: the page is in the address, so the browser's Back is the previous page. */
export function pagingOf<S extends { readonly after?: string }>(
  { search, onSearch }: TableAddress<S>,
  nextCursor: string | null,
) {
  return {
    onFirst: search.after === undefined ? null : () => onSearch({ ...search, after: undefined }),
    onNext: nextCursor === null ? null : () => onSearch({ ...search, after: nextCursor }),
  };
}
