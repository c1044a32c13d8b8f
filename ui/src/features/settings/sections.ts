/** The sections of the settings, as their addresses name them. Small: the router imports it. */
export const SECTIONS = [
  "appearance",
  "notifications",
  "account",
  "models",
  "api-keys",
  "provider-keys",
] as const;

export type SectionName = (typeof SECTIONS)[number];

export const FIRST_SECTION: SectionName = "appearance";

export function isSection(name: string): name is SectionName {
  return (SECTIONS as readonly string[]).includes(name);
}

/** What a section with a table keeps in the address. */
export interface SectionSearch {
  /** Words to search for. */
  readonly q?: string;
  /** The cursor of the page that is shown; none: the first page. */
  readonly after?: string;
}

const SEARCH_CHARS_MAX = 200;

/** The address can be edited by hand: only texts are kept. The router parses `?q=123` as a number. */
export function validateSectionSearch(search: Record<string, unknown>): SectionSearch {
  const text = (value: unknown) => {
    const words = typeof value === "number" ? String(value) : value;
    return typeof words === "string" && words !== "" ? words : undefined;
  };
  return { q: text(search.q)?.slice(0, SEARCH_CHARS_MAX), after: text(search.after) };
}
