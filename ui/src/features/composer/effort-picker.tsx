import { Brain, ChevronDown } from "lucide-react";
import type { Effort } from "@/api/queries/models";
import { composerStrings } from "@/i18n/en/composer";
import { Button } from "@/ui/button";
import { Menu, MenuChoice, MenuChoices, MenuLabel } from "@/ui/menu";
import { useKept } from "./kept";

interface EffortPickerProps {
  /** What the model knows, in rising order; none: there is nothing to choose. */
  efforts: readonly Effort[];
  /** `null`: as the chat or the server says. */
  chosen: Effort | null;
  onChoose: (effort: string | null) => void;
}

const STANDARD = "";
const t = composerStrings.effort;

export function EffortPicker({ efforts, chosen, onChoose }: EffortPickerProps) {
  if (efforts.length === 0) return null;
  const shown = chosen === null ? t.default : t.name(chosen);
  return (
    <Menu
      side="top"
      align="start"
      trigger={
        <Button variant="plain" aria-label={t.label(shown)} className="min-w-0 shrink px-2">
          <Brain aria-hidden />
          <span className="truncate max-sm:sr-only">{shown}</span>
          <ChevronDown aria-hidden />
        </Button>
      }
    >
      <MenuLabel>{t.menu}</MenuLabel>
      <MenuChoices
        value={chosen ?? STANDARD}
        onValueChange={(effort) => onChoose(effort === STANDARD ? null : effort)}
      >
        <MenuChoice value={STANDARD} hint={t.defaultHint}>
          {t.default}
        </MenuChoice>
        {efforts.map((effort) => (
          <MenuChoice key={effort} value={effort}>
            {t.name(effort)}
          </MenuChoice>
        ))}
      </MenuChoices>
    </Menu>
  );
}

/** The effort that was chosen for a chat, kept in this browser; one that the model does not know is not sent. */
export function useEffort(chatId: string | null, allowed: readonly Effort[]) {
  const [kept, choose] = useKept("holdfast.effort.", chatId);
  return [allowed.find((effort) => effort === kept) ?? null, choose] as const;
}
