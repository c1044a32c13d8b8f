import { Globe } from "lucide-react";
import { composerStrings } from "@/i18n/en/composer";
import { Button } from "@/ui/button";
import { useKept } from "./kept";

interface WebToggleProps {
  /** Whether the model searches unless it is told otherwise; without it, the model cannot search. */
  standard: boolean | undefined;
  /** `null`: as the chat or the server says. */
  chosen: boolean | null;
  onChoose: (web: boolean) => void;
}

const t = composerStrings.web;

/** Lets the provider of the model search the web, or not, from the next message on. */
export function WebToggle({ standard, chosen, onChoose }: WebToggleProps) {
  if (standard === undefined) return null;
  const isOn = chosen ?? standard;
  return (
    <Button
      variant="plain"
      aria-pressed={isOn}
      onClick={() => onChoose(!isOn)}
      className="min-w-0 shrink-0 px-2 aria-pressed:bg-subtle aria-pressed:text-accent"
    >
      <Globe aria-hidden />
      <span className="truncate max-sm:sr-only">{t.label}</span>
    </Button>
  );
}

/** What was chosen for a chat, kept in this browser; nothing for a model that cannot search. */
export function useWeb(chatId: string | null, standard: boolean | undefined) {
  const [kept, keep] = useKept("holdfast.web.", chatId);
  const chosen = standard === undefined || kept === null ? null : kept === "on";
  return [chosen, (web: boolean) => keep(web ? "on" : "off")] as const;
}
