/** What is chosen on this device: looks, and which panes are open. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

export type Theme = "system" | "light" | "dark";
export type Density = "comfortable" | "compact";

interface Preferences {
  readonly theme: Theme;
  readonly density: Density;
  /** Whether the list is beside the chat, where there is room for both. */
  readonly sidebar: boolean;
  set(change: Partial<Omit<Preferences, "set">>): void;
}

export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      theme: "system",
      density: "comfortable",
      sidebar: true,
      set: (change) => set(change),
    }),
    { name: "holdfast.preferences" }, // public/theme.js reads it before the first paint
  ),
);

const dark = matchMedia("(prefers-color-scheme: dark)");

function apply({ theme, density }: Preferences): void {
  const root = document.documentElement;
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  root.dataset.theme = isDark ? "dark" : "light";
  root.dataset.density = density;
}

export function followPreferences(): void {
  usePreferences.subscribe(apply);
  dark.addEventListener("change", () => apply(usePreferences.getState()));
  apply(usePreferences.getState());
}
