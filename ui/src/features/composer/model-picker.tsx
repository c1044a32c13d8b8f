import { ChevronDown } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { composerStrings } from "@/i18n/en/composer";
import { part } from "@/lib/lazy-import";
import { Button } from "@/ui/button";
import { Popover } from "@/ui/popover";
import { useKept } from "./kept";
import { type ModelChoices, modelField } from "./model-choices";

const ModelList = lazy(() => part(() => import("./model-list")));
const t = composerStrings.model;

export function ModelPicker({ onChoose, ...choices }: ModelChoices) {
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState("");
  if (choices.models.length === 0) return null;
  const shown = choices.chosen ?? choices.standard ?? t.defaultModel;
  const show = (next: boolean) => {
    setOpen(next);
    setAsked("");
  };
  return (
    <Popover
      label={t.menu}
      side="top"
      align="start"
      flush
      open={open}
      onOpenChange={show}
      trigger={
        <Button variant="plain" aria-label={t.label(shown)} className="min-w-0 shrink px-2">
          <span className="truncate">{shown}</span>
          <ChevronDown aria-hidden />
        </Button>
      }
    >
      {/* The field is there at once: what is typed while the list loads goes into it. */}
      <Suspense
        fallback={
          <input
            aria-label={t.search}
            value={asked}
            onChange={(event) => setAsked(event.target.value)}
            placeholder={t.search}
            className={modelField}
          />
        }
      >
        <ModelList
          {...choices}
          asked={asked}
          onAsk={setAsked}
          onChoose={(model) => {
            show(false);
            onChoose(model);
          }}
        />
      </Suspense>
    </Popover>
  );
}

/** The model that was chosen for a chat, kept in this browser. */
export function useModel(chatId: string | null) {
  return useKept("holdfast.model.", chatId);
}
