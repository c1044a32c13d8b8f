/** The models by name, vendor and what they can do: type to search, arrows and Enter to choose. */

import { Command } from "cmdk";
import { Check } from "lucide-react";
import { useLayoutEffect, useRef } from "react";
import { composerStrings } from "@/i18n/en/composer";
import { factsOf, type ModelChoices, modelField } from "./model-choices";

const t = composerStrings.model;
const STANDARD = "\u0000";

interface ModelListProps extends ModelChoices {
  readonly asked: string;
  readonly onAsk: (asked: string) => void;
}

export default function ModelList({
  models,
  cards,
  chosen,
  standard,
  onChoose,
  asked,
  onAsk,
}: ModelListProps) {
  const field = useRef<HTMLInputElement>(null);
  // It takes the place of the field that was typed in while this loaded.
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <Command label={t.menu} loop defaultValue={chosen ?? STANDARD}>
      <Command.Input
        ref={field}
        value={asked}
        onValueChange={onAsk}
        placeholder={t.search}
        className={modelField}
      />
      <Command.List className="max-h-[min(24rem,50dvh)] overflow-auto p-1">
        <Command.Empty className="p-3 text-center text-muted">{t.none}</Command.Empty>
        <Choice
          value={STANDARD}
          name={t.default}
          facts={[standard ?? t.serverDefault]}
          isChosen={chosen === null}
          onSelect={() => onChoose(null)}
        />
        {models.map((model) => (
          <Choice
            key={model}
            value={model}
            name={model}
            facts={factsOf(cards[model])}
            isChosen={model === chosen}
            onSelect={() => onChoose(model)}
          />
        ))}
      </Command.List>
    </Command>
  );
}

interface ChoiceProps {
  readonly value: string;
  readonly name: string;
  readonly facts: readonly string[];
  readonly isChosen: boolean;
  readonly onSelect: () => void;
}

function Choice({ value, name, facts, isChosen, onSelect }: ChoiceProps) {
  return (
    <Command.Item
      value={value}
      keywords={[name, ...facts]}
      onSelect={onSelect}
      className="flex min-h-8 items-start gap-2 rounded-control px-2 py-1 text-ui data-[selected=true]:bg-hover coarse:min-h-11"
    >
      <span className="mt-0.5 size-4 shrink-0">
        {isChosen && <Check role="img" aria-label={t.chosen} className="size-4 text-accent" />}
      </span>
      <span className="min-w-0">
        <span className="block break-words">{name}</span>
        {facts.length > 0 && (
          <span className="block text-meta text-muted">{facts.join(" · ")}</span>
        )}
      </span>
    </Command.Item>
  );
}
