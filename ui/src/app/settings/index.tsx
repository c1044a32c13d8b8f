/** What can be set: how the page looks here, one's account and keys, and, for admins, the rest. */
import { useMe } from "@/app/me";
import { usePageTitle } from "@/app/page-title";
import { type Density, type Theme, usePreferences, type Width } from "@/app/preferences";
import { Segments } from "@/kit/segments";
import { words } from "@/words";
import { Account } from "./account";
import { Keys } from "./keys";
import { Models } from "./models";
import { Notices } from "./notices";
import { Organisation } from "./organisation";
import { Section } from "./section";
import { Users } from "./users";

const says = words.settings;

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", says.system],
  ["light", says.light],
  ["dark", says.dark],
];
const DENSITIES: readonly (readonly [Density, string])[] = [
  ["comfortable", says.comfortable],
  ["compact", says.compact],
];

const WIDTHS: readonly (readonly [Width, string])[] = [
  ["column", says.widthColumn],
  ["full", says.widthFull],
];

export function Settings() {
  const me = useMe().data;
  usePageTitle(says.title);
  if (me === undefined) return null;
  const admin = me.user.role === "admin";
  return (
    <main className="min-h-0 flex-1 overflow-auto">
      <div className="mx-auto flex max-w-[52rem] flex-col gap-8 px-4 pt-3 pb-16">
        <h1 className="pl-9 font-semibold text-title min-[1000px]:pl-0">{says.title}</h1>
        <Appearance />
        <Notices />
        <Account me={me} />
        <Models />
        <Keys />
        {admin && <Organisation />}
        {admin && <Users me={me} />}
      </div>
    </main>
  );
}

function Appearance() {
  const { theme, density, width, set } = usePreferences();
  return (
    <Section title={says.appearance}>
      <div className="flex flex-wrap gap-6">
        <Segments
          label={says.theme}
          value={theme}
          choices={THEMES}
          onChange={(chosen) => set({ theme: chosen })}
        />
        <Segments
          label={says.density}
          value={density}
          choices={DENSITIES}
          onChange={(chosen) => set({ density: chosen })}
        />
        <Segments
          label={says.width}
          value={width}
          choices={WIDTHS}
          onChange={(chosen) => set({ width: chosen })}
        />
      </div>
    </Section>
  );
}
