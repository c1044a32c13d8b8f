import type { ReactNode } from "react";
import { ArgumentList } from "@/features/tools/arguments";
import type { Call } from "@/features/tools/call";
import { toolStrings } from "@/i18n/en/tools";

export function Section({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section
      aria-label={label}
      className="border-b border-line bg-subtle px-3 py-2 last:border-b-0"
    >
      <p className="mb-1 text-meta text-muted">{label}</p>
      {children}
    </section>
  );
}

export function ArgumentsSection({ call }: { call: Call }) {
  return (
    <Section label={toolStrings.body.arguments}>
      {call.arguments === null ? (
        <pre className="font-mono text-code break-all whitespace-pre-wrap">{call.source}</pre>
      ) : (
        <ArgumentList given={call.arguments} exact={call.exact} />
      )}
    </Section>
  );
}
