import { type ComponentProps, useId } from "react";

interface CheckboxProps extends Omit<ComponentProps<"input">, "type" | "onChange"> {
  readonly label: string;
  readonly onChange: (checked: boolean) => void;
}

export function Checkbox({ label, onChange, ...rest }: CheckboxProps) {
  const id = useId();
  return (
    <span className="inline-flex min-h-9 items-center gap-2 coarse:min-h-11">
      <input
        id={id}
        type="checkbox"
        className="size-4 accent-accent"
        onChange={(event) => onChange(event.target.checked)}
        {...rest}
      />
      <label htmlFor={id} className="text-ui">
        {label}
      </label>
    </span>
  );
}
