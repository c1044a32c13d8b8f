/** The settings: a list of sections, and the section that the address names. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Outlet } from "@tanstack/react-router";
import { useMe } from "@/api/queries/me";
import { providerKeysQuery } from "@/api/queries/provider-keys";
import { usePageTitle } from "@/features/chat-list/page-title";
import { settingsStrings as t } from "@/i18n/en/settings";
import { Account } from "./account";
import { Appearance } from "./appearance";
import { Keys } from "./keys";
import { Models } from "./models";
import { Notices } from "./notifications";
import { ProviderKeys } from "./provider-keys";
import { SECTIONS } from "./sections";

export function Settings() {
  usePageTitle(t.title);
  const providers = useQuery(providerKeysQuery).data?.data ?? [];
  // Only where an admin allows a key, or one is stored.
  const sections = SECTIONS.filter((each) => each !== "provider-keys" || providers.length > 0);
  // Positioned: what is `sr-only` inside is absolute, and would make the document taller.
  return (
    <main className="relative min-h-0 flex-1 overflow-auto">
      <div className="mx-auto flex max-w-[60rem] flex-col gap-4 px-4 pt-3 pb-16">
        <h1 className="pl-9 font-semibold text-title min-[1000px]:pl-0">{t.title}</h1>
        <div className="flex flex-col gap-6 md:flex-row md:gap-8">
          <nav
            aria-label={t.sectionsLabel}
            className="flex flex-wrap content-start gap-1 md:w-44 md:shrink-0 md:flex-col"
          >
            {sections.map((section) => (
              <Link
                key={section}
                to="/settings/$section"
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

const route = getRouteApi("/settings/$section");

export function SettingsSection() {
  const { section } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe().data;
  if (me === undefined) return null;
  const table = {
    search,
    onSearch: (next: typeof search, replace = false) => void navigate({ search: next, replace }),
  };
  switch (section) {
    case "appearance":
      return <Appearance />;
    case "notifications":
      return <Notices />;
    case "account":
      return <Account me={me} />;
    case "models":
      return <Models />;
    case "api-keys":
      return <Keys {...table} />;
    case "provider-keys":
      return <ProviderKeys />;
  }
}
