/** KaTeX, in a chunk of its own with its styles and fonts. It makes elements, and no text of HTML. */
import katex from "katex";
import "katex/dist/katex.min.css";

/** How many expansions of macros a formula may take: a few lines of TeX can ask for millions. */
const EXPANSIONS_MAX = 1000;
const SIZE_MAX_EM = 10;

/** `null`: KaTeX refuses it. */
export function typeset(tex: string, isDisplay: boolean): HTMLElement | null {
  const element = document.createElement("span");
  try {
    katex.render(tex, element, {
      displayMode: isDisplay,
      throwOnError: true,
      strict: false,
      maxExpand: EXPANSIONS_MAX,
      maxSize: SIZE_MAX_EM,
      // An untrusted command is refused with its formula: KaTeX alone would draw it without its words.
      trust: ({ command }) => {
        throw new Error(command);
      },
    });
    return element;
  } catch {
    return null;
  }
}
