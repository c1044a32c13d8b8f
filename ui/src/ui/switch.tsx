import { Switch as Radix } from "radix-ui";
import { useId } from "react";

interface SwitchProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** On or off, effective at once. In a form that is submitted, use a checkbox. */
export function Switch({ label, checked, onChange }: SwitchProps) {
  const id = useId();
  return (
    <span className="inline-flex min-h-8 items-center gap-2 coarse:min-h-11">
      <Radix.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        className="h-5 w-9 shrink-0 rounded-full border border-line-strong bg-hover p-px data-[state=checked]:border-accent data-[state=checked]:bg-accent"
      >
        <Radix.Thumb className="block size-4 rounded-full bg-muted transition-transform duration-150 data-[state=checked]:translate-x-4 data-[state=checked]:bg-accent-fg" />
      </Radix.Root>
      <label htmlFor={id} className="text-ui">
        {label}
      </label>
    </span>
  );
}
