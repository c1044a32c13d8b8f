import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cn } from "@/lib/classes";
import { inputStyle } from "./form-field";

interface SelectProps extends Omit<ComponentProps<"select">, "onChange" | "children"> {
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChange: (value: string) => void;
}

/** The browser's own list: it is usable by touch and keyboard, and never leaves the window. */
export function Select({ options, onChange, className, ...rest }: SelectProps) {
  return (
    <span className="relative block">
      <select
        className={cn(inputStyle, "appearance-none pr-8", className)}
        onChange={(event) => onChange(event.target.value)}
        {...rest}
      >
        {options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-4 -translate-y-1/2 text-muted"
      />
    </span>
  );
}
