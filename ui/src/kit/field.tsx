import { type ComponentProps, useId } from "react";
import { cn } from "./classes";

type FieldProps = ComponentProps<"input"> & { label: string; hint?: string };

export const inputLook =
  "h-9 w-full rounded-control border border-line-strong bg-raised px-2.5 text-ui text-fg placeholder:text-faint coarse:h-11";

/** A labelled line of text. */
export function Field({ label, hint, className, ...rest }: FieldProps) {
  const id = useId();
  return (
    <div className={cn("flex flex-col gap-1", className)}>
      <label htmlFor={id} className="font-medium text-meta text-muted">
        {label}
      </label>
      <input
        id={id}
        className={inputLook}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...rest}
      />
      {hint && (
        <p id={`${id}-hint`} className="text-faint text-meta">
          {hint}
        </p>
      )}
    </div>
  );
}
