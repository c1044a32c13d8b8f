import { type ClassValue, clsx } from "clsx";
import { extendTailwindMerge } from "tailwind-merge";

// Our sizes of text, by name: else `text-ui` is taken for a colour and takes the place of one.
const merge = extendTailwindMerge({
  extend: { classGroups: { "font-size": [{ text: ["ui", "body", "title", "meta", "code"] }] } },
});

/** Class names; of two that set the same, the later one holds. */
export function cn(...given: ClassValue[]): string {
  return merge(clsx(given));
}
