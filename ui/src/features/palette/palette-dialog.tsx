/**
 * The frame of the command palette. It is in the shell, with a field that takes keys at once: what is
 * typed while the commands load must not go to the composer.
 */
import { Dialog as Radix } from "radix-ui";
import { lazy, Suspense, useState } from "react";
import { commonStrings } from "@/i18n/en/common";
import { part } from "@/lib/lazy-import";
import { useFocusBack } from "@/ui/focus";
import { paletteField } from "./palette-field";
import { openOverlay, useOverlay } from "./shortcuts";

const Palette = lazy(() => part(() => import("./palette")));
const t = commonStrings.palette;

export function PaletteDialog() {
  const open = useOverlay((state) => state.open === "palette");
  const [asked, setAsked] = useState("");
  const focusBack = useFocusBack();
  return (
    <Radix.Root
      open={open}
      onOpenChange={() => {
        openOverlay(null);
        setAsked("");
      }}
    >
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0_0_0/0.4)]" />
        <Radix.Content
          {...focusBack}
          aria-describedby={undefined}
          className="fixed top-[12dvh] left-1/2 z-50 w-[36rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 overflow-hidden rounded-panel border border-line bg-raised shadow-float"
        >
          <Radix.Title className="sr-only">{t.title}</Radix.Title>
          <Suspense
            fallback={
              <input
                aria-label={t.title}
                value={asked}
                onChange={(event) => setAsked(event.target.value)}
                placeholder={t.ask}
                className={paletteField}
              />
            }
          >
            <Palette asked={asked} onAsk={setAsked} />
          </Suspense>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
