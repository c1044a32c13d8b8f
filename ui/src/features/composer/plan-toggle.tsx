import { NotebookPen } from "lucide-react";
import { useEffect, useState } from "react";
import { composerStrings } from "@/i18n/en/composer";
import { Button } from "@/ui/button";

interface PlanToggleProps {
  isOn: boolean;
  onChoose: (planMode: boolean) => void;
}

const t = composerStrings.planMode;

/** Lets the model only make a plan, or act, from the next message on. */
export function PlanToggle({ isOn, onChoose }: PlanToggleProps) {
  return (
    <Button
      variant="plain"
      aria-pressed={isOn}
      onClick={() => onChoose(!isOn)}
      className="min-w-0 shrink-0 px-2 aria-pressed:bg-subtle aria-pressed:text-accent"
    >
      <NotebookPen aria-hidden />
      <span className="truncate max-sm:sr-only">{t.label}</span>
    </Button>
  );
}

/** What was chosen for the next message; `null`: as the chat says. The chat has the last word. */
export function usePlanMode(chatId: string | null, ofChat: boolean) {
  const [chosen, choose] = useState<boolean | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was chosen was for the chat as it was
  useEffect(() => choose(null), [chatId, ofChat]);
  return [chosen, choose] as const;
}
