/**
 * Maths, as its source: `$$…$$` and `\[…\]` are blocks, `$…$` and `\(…\)` stand in a line. Nothing
 * is typeset; but no character of a formula is read as Markdown.
 */
import type { MarkdownPlugin, OpenBlock } from "./plugin";

const CHARACTERS_MAX = 4000;

function isOpenBlock(line: string): OpenBlock | null {
  const dollars = /^ {0,3}\$\$(.*)$/.exec(line)?.[1];
  if (dollars !== undefined) return block(dollars, "$$");
  const bracket = /^ {0,3}\\\[(.*)$/.exec(line)?.[1];
  return bracket === undefined ? null : block(bracket, "\\]");
}

function block(rest: string, end: string): OpenBlock | null {
  const isClosed = rest.includes(end);
  // Words after the end: a formula in a line of prose.
  if (isClosed && !rest.trimEnd().endsWith(end)) return null;
  const closes = (line: string) => line.includes(end);
  return { closes, isClosed, isVerbatim: true, charactersMax: CHARACTERS_MAX };
}

/** Code spans are matched first, so that what looks like maths in them stays code. */
const INLINE =
  /(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)|\\\([^\n]*?\\\)|\\\[[^\n]*?\\\]|\$\$[\s\S]+?\$\$|(?<![\\$])\$(?![\s$])[^$`\n]*?(?<![\s\\$])\$(?![\d$])/g;
const PUNCTUATION = /[!-/:-@[-`{-~]/g;

function escapeFormulas(text: string): string {
  if (!text.includes("$") && !text.includes("\\(") && !text.includes("\\[")) return text;
  return text.replaceAll(INLINE, (found) =>
    // An address between two dollars is none of ours.
    found.startsWith("`") || found.includes("://") || found.includes("](")
      ? found
      : found.replace(PUNCTUATION, "\\$&"),
  );
}

export const math: MarkdownPlugin = { isOpenBlock, escapeText: escapeFormulas };
