/** The administration: a list of sections, and the section that the address names. */
import { getRouteApi, Link, Outlet } from "@tanstack/react-router";
import { useMe } from "@/api/queries/me";
import { usePageTitle } from "@/features/chat-list/page-title";
import { adminStrings as t } from "@/i18n/en/admin";
import { Audit } from "./audit";
import { Chats } from "./chats";
import { Models } from "./models";
import { OverviewSection } from "./overview";
import { People } from "./people";
import { Rules } from "./rules";
import { ADMIN_SECTIONS, type AdminSearch } from "./sections";
import { OrganisationSettings } from "./settings";
import { Templates } from "./templates";

export function Admin() {
  usePageTitle(t.title);
  // Positioned: what is `sr-only` inside is absolute, and would make the document taller.
  return (
    <main className="relative min-h-0 flex-1 overflow-auto">
      <div className="mx-auto flex max-w-[68rem] flex-col gap-4 px-4 pt-3 pb-16">
        <h1 className="pl-9 font-semibold text-title min-[1000px]:pl-0">{t.title}</h1>
        <div className="flex flex-col gap-6 md:flex-row md:gap-8">
          <nav
            aria-label={t.sectionsLabel}
            className="flex flex-wrap content-start gap-1 md:w-44 md:shrink-0 md:flex-col"
          >
            {ADMIN_SECTIONS.map((section) => (
              <Link
                key={section}
                to="/admin/$section"
                params={{ section }}
                className="flex min-h-8 items-center rounded-control px-2.5 text-muted text-ui hover:bg-hover hover:text-fg aria-[current=page]:bg-selected aria-[current=page]:text-fg coarse:min-h-11"
              >
                {t.sections[section]}
              </Link>
            ))}
          </nav>
          <div className="min-w-0 flex-1">
            <Outlet />
          </div>
        </div>
      </div>
    </main>
  );
}

const route = getRouteApi("/admin/$section");

export function AdminSection() {
  const { section } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe().data;
  if (me === undefined) return null;
  const address = {
    search,
    onSearch: (next: AdminSearch, replace = false) => void navigate({ search: next, replace }),
  };
  switch (section) {
    case "overview":
      return <OverviewSection />;
    case "people":
      return <People me={me} {...address} />;
    case "chats":
      return <Chats {...address} />;
    case "models":
      return <Models />;
    case "settings":
      return <OrganisationSettings />;
    case "rules":
      return <Rules />;
    case "templates":
      return <Templates />;
    case "audit":
      return <Audit {...address} />;
  }
}
