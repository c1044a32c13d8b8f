import { type FormEvent, type ReactNode, useEffect, useRef } from "react";
import { cn } from "@/lib/classes";
import { Button } from "./button";

/** The state of a request, as `useApiMutation` gives it. */
interface Submission {
  readonly isPending: boolean;
  readonly error: string | null;
  /** By JSON pointer, such as `/email`. */
  readonly fieldErrors: Readonly<Record<string, string>>;
}

interface FormProps {
  readonly submission: Submission;
  readonly onSubmit: () => void;
  readonly submitLabel: string;
  /** The pointers that have a field here; errors elsewhere are shown below the form. */
  readonly fields: readonly string[];
  readonly layout?: "row" | "column";
  readonly children: ReactNode;
}

/** A form that is sent once at a time, and shows why the server refused it. */
export function Form(props: FormProps) {
  const { submission, onSubmit, submitLabel, fields, layout = "row", children } = props;
  const { isPending, error, fieldErrors } = submission;
  const form = useRef<HTMLFormElement>(null);
  const pointers = Object.keys(fieldErrors);
  const isElsewhere = pointers.length === 0 || pointers.some((each) => !fields.includes(each));
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isPending) onSubmit();
  };
  return (
    <form
      ref={form}
      onSubmit={submit}
      aria-busy={isPending}
      className={cn("flex gap-3", layout === "row" ? "flex-wrap items-start" : "flex-col")}
    >
      {children}
      {/* In a row: as far down as the controls, which have a label above them. */}
      <Button
        type="submit"
        className={layout === "row" ? "mt-5.5 h-9" : "self-start"}
        aria-disabled={isPending}
      >
        {submitLabel}
      </Button>
      {error !== null && isElsewhere && (
        <p role="alert" className="w-full text-danger text-ui">
          {error}
        </p>
      )}
    </form>
  );
}
