/** Keys that work everywhere, and the page that lists them. */
import { useEffect } from "react";
import { create } from "zustand";
import { focusComposer } from "@/features/chat/panes";
import { commonStrings } from "@/i18n/en/common";
import { Dialog } from "@/ui/dialog";

/** What floats above the page now. */
export const useOverlay = create<{ open: "palette" | "shortcuts" | null }>(() => ({ open: null }));

export function openOverlay(open: "palette" | "shortcuts" | null): void {
  useOverlay.setState({ open });
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
const MOD = isMac ? "⌘" : "Ctrl";

const KEYS: readonly (readonly [string, string])[] = [
  [`${MOD} K`, commonStrings.shortcuts.palette],
  [`${MOD} F`, commonStrings.shortcuts.find],
  [`${MOD} Shift O`, commonStrings.shortcuts.newChat],
  [`${MOD} B`, commonStrings.shortcuts.sidebar],
  ["/", commonStrings.shortcuts.composer],
  ["?", commonStrings.shortcuts.help],
  ["Enter", commonStrings.shortcuts.send],
  ["Shift Enter", commonStrings.shortcuts.newline],
  ["Esc", commonStrings.shortcuts.stop],
];

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

export function useShortcuts(act: { newChat: () => void; sidebar: () => void }): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.isComposing) return;
      const mod = isMac ? event.metaKey : event.ctrlKey;
      const key = event.key.toLowerCase();
      if (mod && key === "k") openOverlay("palette");
      else if (mod && event.shiftKey && key === "o") act.newChat();
      else if (mod && key === "b") act.sidebar();
      else if (event.key === "?" && !isTyping(event.target)) openOverlay("shortcuts");
      else if (event.key === "/" && !isTyping(event.target)) focusComposer();
      else return;
      event.preventDefault();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [act]);
}

export function Shortcuts() {
  const open = useOverlay((state) => state.open === "shortcuts");
  return (
    <Dialog
      open={open}
      onOpenChange={() => openOverlay(null)}
      title={commonStrings.shortcuts.title}
    >
      <dl className="grid grid-cols-[1fr_auto] gap-y-2">
        {KEYS.map(([keys, does]) => (
          <div key={keys} className="col-span-2 grid grid-cols-subgrid items-center">
            <dt className="text-ui">{does}</dt>
            <dd className="flex gap-1">
              {keys.split(" ").map((key) => (
                <kbd
                  key={key}
                  className="rounded border border-line bg-subtle px-1.5 font-mono text-meta text-muted"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
