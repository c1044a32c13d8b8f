import type { ReactNode } from "react";

interface SectionProps {
  readonly title: string;
  readonly hint?: string;
  readonly children: ReactNode;
}

export function Section({ title, hint, children }: SectionProps) {
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      <div>
        <h2 className="font-semibold text-ui">{title}</h2>
        {hint && <p className="text-meta text-muted">{hint}</p>}
      </div>
      {children}
    </section>
  );
}
