/** Keys that work everywhere, and the page that lists them. */
import { useEffect } from "react";
import { create } from "zustand";
import { Dialog } from "@/kit/dialog";
import { words } from "@/words";

/** What floats above the page now. */
export const useFloating = create<{ open: "palette" | "shortcuts" | null }>(() => ({ open: null }));

export function float(open: "palette" | "shortcuts" | null): void {
  useFloating.setState({ open });
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
const MOD = isMac ? "⌘" : "Ctrl";

const KEYS: readonly (readonly [string, string])[] = [
  [`${MOD} K`, words.shortcuts.palette],
  [`${MOD} F`, words.shortcuts.find],
  [`${MOD} Shift O`, words.shortcuts.newChat],
  [`${MOD} B`, words.shortcuts.sidebar],
  ["/", words.shortcuts.composer],
  ["?", words.shortcuts.help],
  ["Enter", words.shortcuts.send],
  ["Shift Enter", words.shortcuts.newline],
  ["Esc", words.shortcuts.stop],
];

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

export function toComposer(): void {
  document.querySelector<HTMLElement>("[data-composer], textarea")?.focus();
}

export function useShortcuts(act: { newChat: () => void; sidebar: () => void }): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.isComposing) return;
      const mod = isMac ? event.metaKey : event.ctrlKey;
      const key = event.key.toLowerCase();
      if (mod && key === "k") float("palette");
      else if (mod && event.shiftKey && key === "o") act.newChat();
      else if (mod && key === "b") act.sidebar();
      else if (event.key === "?" && !isTyping(event.target)) float("shortcuts");
      else if (event.key === "/" && !isTyping(event.target)) toComposer();
      else return;
      event.preventDefault();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [act]);
}

export function Shortcuts() {
  const open = useFloating((state) => state.open === "shortcuts");
  return (
    <Dialog open={open} onOpenChange={() => float(null)} title={words.shortcuts.title}>
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
