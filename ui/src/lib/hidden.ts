/**
 * Characters that could make an approval look like something else: controls, bidirectional marks,
 * zero-width and other invisible characters. Split so that a component can show each as a mark.
 */

export interface Piece {
  text: string;
  /** What the piece stands for, if it cannot be seen: `U+202E`. */
  code: string | null;
}

// Newline and tab are layout, not tricks. U+00A0 and the like look like a space and are not one.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single code points are meant
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB]|[\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;

export function revealed(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), code: null });
    pieces.push({ text: match[0], code: codePoint(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), code: null });
  return pieces;
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
