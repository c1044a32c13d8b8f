/** The frame of the gallery: groups of states, each with its name. */
import type { ReactNode } from "react";

export function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} data-group={title} className="space-y-6">
      <h2 className="border-b border-line pb-1 text-title font-semibold">{title}</h2>
      {children}
    </section>
  );
}

export function State({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div data-state={name} className="group/row">
      <p className="mb-1 text-meta text-faint">{name}</p>
      {children}
    </div>
  );
}
