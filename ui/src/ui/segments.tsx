import { ToggleGroup } from "radix-ui";
import { useId } from "react";

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly (readonly [T, string])[];
  readonly onChange: (value: T) => void;
}

/** One of a few, all of them visible. */
export function Segments<T extends string>({ label, value, choices, onChange }: SegmentsProps<T>) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <span id={id} className="font-medium text-meta text-muted">
        {label}
      </span>
      <ToggleGroup.Root
        type="single"
        aria-labelledby={id}
        value={value}
        onValueChange={(chosen) => chosen !== "" && onChange(chosen as T)}
        className="inline-flex rounded-control border border-line bg-subtle p-0.5"
      >
        {choices.map(([each, title]) => (
          <ToggleGroup.Item
            key={each}
            value={each}
            className="h-7 rounded px-3 text-muted text-ui data-[state=on]:bg-raised data-[state=on]:text-fg data-[state=on]:shadow-[0_0_0_1px_var(--border)] coarse:h-11"
          >
            {title}
          </ToggleGroup.Item>
        ))}
      </ToggleGroup.Root>
    </div>
  );
}
