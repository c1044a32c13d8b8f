import { ChevronDown } from "lucide-react";
import { composerStrings } from "@/i18n/en/composer";
import { Button } from "@/ui/button";
import { Menu, MenuChoice, MenuChoices, MenuLabel } from "@/ui/menu";
import { useKept } from "./kept";

interface ModelPickerProps {
  models: readonly string[];
  /** `null`: the standard one. */
  chosen: string | null;
  standard: string | null;
  onChoose: (model: string | null) => void;
}

const STANDARD = "";
const t = composerStrings.model;

export function ModelPicker({ models, chosen, standard, onChoose }: ModelPickerProps) {
  if (models.length === 0) return null;
  const shown = chosen ?? standard ?? t.defaultModel;
  return (
    <Menu
      side="top"
      align="start"
      trigger={
        <Button variant="plain" aria-label={t.label(shown)} className="min-w-0 shrink px-2">
          <span className="truncate">{shown}</span>
          <ChevronDown aria-hidden />
        </Button>
      }
    >
      <MenuLabel>{t.menu}</MenuLabel>
      <MenuChoices
        value={chosen ?? STANDARD}
        onValueChange={(model) => onChoose(model === STANDARD ? null : model)}
      >
        <MenuChoice value={STANDARD} hint={standard === null ? t.serverDefault : standard}>
          {t.default}
        </MenuChoice>
        {models.map((model) => (
          <MenuChoice key={model} value={model}>
            {model}
          </MenuChoice>
        ))}
      </MenuChoices>
    </Menu>
  );
}

/** The model that was chosen for a chat, kept in this browser. */
export function useModel(chatId: string | null) {
  return useKept("holdfast.model.", chatId);
}
