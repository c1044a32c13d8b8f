import { type RefObject, useLayoutEffect } from "react";

/** A text area as high as its text; its style bounds it. Browsers that do it themselves are let be. */
export function useAutosize(area: RefObject<HTMLTextAreaElement | null>, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is what the height depends on
  useLayoutEffect(() => {
    const { current } = area;
    if (current === null || globalThis.CSS?.supports?.("field-sizing", "content")) return;
    current.style.height = "auto";
    current.style.height = `${current.scrollHeight}px`;
  }, [area, text]);
}
