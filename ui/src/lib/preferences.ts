/** What is chosen on this device: looks, and which panes are open. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";
export type Density = "comfortable" | "compact";
/** Of the transcript: a column that reads well, or all the room there is. */
export type Width = "column" | "full";

interface Preferences {
  readonly theme: Theme;
  readonly density: Density;
  /** Whether the list is beside the chat, where there is room for both. */
  readonly sidebar: boolean;
  readonly sidebarPx: number;
  readonly width: Width;
  /** Whether the browser may be asked to tell of chats that end or need somebody. */
  readonly notify: boolean;
  set(change: Partial<Omit<Preferences, "set">>): void;
}

export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      theme: "system",
      density: "comfortable",
      sidebar: true,
      sidebarPx: 280,
      width: "column",
      notify: true,
      set: (change) => set(change),
    }),
    { name: "holdfast.preferences" }, // public/theme.js reads it before the first paint
  ),
);

const dark = matchMedia("(prefers-color-scheme: dark)");

function apply({ theme, density, width }: Preferences): void {
  const root = document.documentElement;
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  root.dataset.theme = isDark ? "dark" : "light";
  root.dataset.density = density;
  root.dataset.width = width;
}

export function followPreferences(): void {
  usePreferences.subscribe(apply);
  dark.addEventListener("change", () => apply(usePreferences.getState()));
  apply(usePreferences.getState());
}
