/**
 * Every state of every part, on one page: what is looked at when something is changed, and what the
 * script `scripts/ui-gallery.mjs` takes pictures of. `?theme=dark&density=compact` choose the look.
 */
import "@/parts/parts.css";
import { type ReactNode, useEffect } from "react";
import { ClockContext, stoppedAt } from "@/kit/clock";
import { TooltipProvider } from "@/kit/tooltip";
import { ComposerStates } from "./composer-states";
import { NOW } from "./fixtures";
import { MarkdownStates } from "./markdown-states";
import { ToolStates } from "./tool-states";
import { TranscriptStates } from "./transcript-states";
import { TurnStates } from "./turn-states";

const CLOCK = stoppedAt(NOW);

export function Gallery() {
  useLook();
  return (
    <ClockContext.Provider value={CLOCK}>
      <TooltipProvider>
        <main className="gallery h-dvh overflow-y-auto" aria-label="Gallery">
          <div className="mx-auto max-w-(--column) space-y-12 px-4 py-8">
            <header className="pl-9 min-[1000px]:pl-0">
              <h1 className="text-title font-semibold">Gallery</h1>
              <p className="text-muted">Every state of every part of a chat.</p>
            </header>
            <TurnStates />
            <ToolStates />
            <MarkdownStates />
            <ComposerStates />
            <TranscriptStates />
          </div>
        </main>
      </TooltipProvider>
    </ClockContext.Provider>
  );
}

function useLook() {
  useEffect(() => {
    const asked = new URLSearchParams(location.search);
    const { dataset } = document.documentElement;
    for (const name of ["theme", "density"] as const) {
      const value = asked.get(name);
      if (value !== null) dataset[name] = value;
    }
  }, []);
}

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
