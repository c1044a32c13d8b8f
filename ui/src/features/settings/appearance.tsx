import { settingsStrings as t } from "@/i18n/en/settings";
import { type Density, type Theme, usePreferences, type Width } from "@/lib/preferences";
import { Segments } from "@/ui/segments";
import { Section } from "./section";

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", t.system],
  ["light", t.light],
  ["dark", t.dark],
];
const DENSITIES: readonly (readonly [Density, string])[] = [
  ["comfortable", t.comfortable],
  ["compact", t.compact],
];
const WIDTHS: readonly (readonly [Width, string])[] = [
  ["column", t.widthColumn],
  ["full", t.widthFull],
];

export function Appearance() {
  const { theme, density, width, set } = usePreferences();
  return (
    <Section title={t.sections.appearance}>
      <div className="flex flex-wrap gap-6">
        <Segments
          label={t.theme}
          value={theme}
          choices={THEMES}
          onChange={(chosen) => set({ theme: chosen })}
        />
        <Segments
          label={t.density}
          value={density}
          choices={DENSITIES}
          onChange={(chosen) => set({ density: chosen })}
        />
        <Segments
          label={t.width}
          value={width}
          choices={WIDTHS}
          onChange={(chosen) => set({ width: chosen })}
        />
      </div>
    </Section>
  );
}
