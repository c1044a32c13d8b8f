/** The sections of the administration, as their addresses name them. Small: the router imports it. */
const SECTIONS = [
  "overview",
  "people",
  "chats",
  "models",
  "settings",
  "rules",
  "templates",
  "audit",
] as const;

export type AdminSection = (typeof SECTIONS)[number];

export const FIRST_ADMIN_SECTION: AdminSection = "overview";
export const ADMIN_SECTIONS: readonly AdminSection[] = SECTIONS;

export function isAdminSectionName(name: string): name is AdminSection {
  return (SECTIONS as readonly string[]).includes(name);
}

/** Where sections of older addresses are now: `/settings/users` is `/admin/people`. */
export const MOVED: Readonly<Record<string, AdminSection>> = {
  organization: "settings",
  users: "people",
  "audit-log": "audit",
};

/** What a section keeps in the address. */
export interface AdminSearch {
  /** Words to search for. */
  readonly q?: string;
  /** The cursor of the page that is shown; none: the first page. */
  readonly after?: string;
  /** Of the audit log: the kind of action, the id of the user who did it, and days. */
  readonly kind?: string;
  readonly by?: string;
  readonly from?: string;
  readonly to?: string;
}

const SEARCH_CHARS_MAX = 200;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The address can be edited by hand: only texts are kept. The router parses `?q=123` as a number. */
export function validateAdminSearch(search: Record<string, unknown>): AdminSearch {
  const text = (value: unknown) => {
    const words = typeof value === "number" ? String(value) : value;
    return typeof words === "string" && words !== "" ? words.slice(0, SEARCH_CHARS_MAX) : undefined;
  };
  const day = (value: unknown) => {
    const given = text(value);
    return given !== undefined && DAY.test(given) ? given : undefined;
  };
  return {
    q: text(search.q),
    after: text(search.after),
    kind: text(search.kind),
    by: text(search.by),
    from: day(search.from),
    to: day(search.to),
  };
}
