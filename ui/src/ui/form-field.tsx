import { type ComponentProps, type ReactNode, useId } from "react";
import { cn } from "@/lib/classes";

interface FormFieldProps {
  readonly label: string;
  readonly hint?: string;
  /** Why the server refused this value. */
  readonly error?: string;
  readonly className?: string;
}

/** What a control needs so that its label, hint and error are announced with it. */
interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

export const inputStyle =
  "h-9 w-full rounded-control border border-line-strong bg-raised px-2.5 text-ui text-fg placeholder:text-faint aria-invalid:border-danger coarse:h-11";

/** A control with its label, its hint and the server's error. */
export function FormField({
  label,
  hint,
  error,
  className,
  children,
}: FormFieldProps & { readonly children: (control: ControlProps) => ReactNode }) {
  const id = useId();
  const described = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <div className={cn("flex flex-col gap-1", className)}>
      <label htmlFor={id} className="font-medium text-meta text-muted">
        {label}
      </label>
      {children({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {error && (
        <p id={`${id}-error`} className="text-danger text-meta">
          {error}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="text-faint text-meta">
          {hint}
        </p>
      )}
    </div>
  );
}

/** One line of text with its label. */
export function TextField({
  label,
  hint,
  error,
  className,
  ...rest
}: FormFieldProps & Omit<ComponentProps<"input">, keyof FormFieldProps>) {
  return (
    <FormField label={label} hint={hint} error={error} className={className}>
      {(control) => <input className={inputStyle} {...control} {...rest} />}
    </FormField>
  );
}
