/** What of a formula may be typeset. Pure. */

interface Tex {
  tex: string;
  isDisplay: boolean;
}

const CHARACTERS_MAX = 4000;

/**
 * Commands by which words of the source would not be seen: comments, phantoms, macros that are not
 * used, and lengths below zero, which move one text over another.
 */
const HIDES =
  /(?<!\\)(?:\\\\)*%|\\[hv]?phantom(?![A-Za-z])|\\(?:[egx]?def|let|futurelet|global|long|(?:re)?newcommand|providecommand)(?![A-Za-z])|-\s*[\d.]+\s*(?:em|ex|pt|mu|px|mm|cm|in|bp|pc|dd|cc|nd|nc|sp)(?![A-Za-z])/;

/** `null`: it is no formula, or it is to be shown as it was written. */
export function formulaIn(source: string): Tex | null {
  const bare = source.trim();
  const found =
    between(bare, "$$", "$$", true) ??
    between(bare, "\\[", "\\]", true) ??
    between(bare, "\\(", "\\)", false) ??
    between(bare, "$", "$", false);
  if (found === null || found.tex.length > CHARACTERS_MAX || found.tex.trim() === "") return null;
  const isMoney = bare.startsWith("$") && !found.isDisplay && isProse(found.tex);
  return isMoney || HIDES.test(found.tex) ? null : found;
}

function between(text: string, open: string, close: string, isDisplay: boolean): Tex | null {
  if (text.length < open.length + close.length) return null;
  if (!text.startsWith(open) || !text.endsWith(close)) return null;
  const tex = text.slice(open.length, -close.length);
  return tex.includes(open) || tex.includes(close) ? null : { tex, isDisplay };
}

/** Two words side by side, as between two amounts: "$5, or US$". */
function isProse(tex: string): boolean {
  const bare = tex.replaceAll(/\\[A-Za-z]+\s*(?:\{[^{}]*\})?/g, " \\ ");
  return /\p{L}{2,}[,.;:]?\s+\p{L}{2,}/u.test(bare);
}
