/**
 * Every state of every component, on one page. `scripts/gallery.mjs` takes pictures of it.
 * `?theme=dark&density=compact` choose the look.
 */
import "@/features/chat/chat.css";
import { useEffect } from "react";
import { ClockContext, stoppedAt } from "@/lib/clock";
import { NOW } from "@/testing/fixtures";
import { ComposerStates } from "./composer-states";
import { FormStates } from "./form-states";
import { MarkdownStates } from "./markdown-states";
import { ToolStates } from "./tool-states";
import { TranscriptStates } from "./transcript-states";
import { TurnStates } from "./turn-states";

const CLOCK = stoppedAt(NOW);

export function Gallery() {
  useLook();
  return (
    <ClockContext.Provider value={CLOCK}>
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
          <FormStates />
          <TranscriptStates />
        </div>
      </main>
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
