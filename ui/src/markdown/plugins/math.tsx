/**
 * Maths: `$$…$$` and `\[…\]` are displayed, `$…$` and `\(…\)` stand in a line. No character of a
 * formula is read as Markdown, and a formula that cannot be typeset is shown as its source.
 */

import { Formula } from "./formula";
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
  /(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)|\\\([^\n]*?\\\)|\\\[(?:(?!\n[ \t]*\n)[\s\S])*?\\\]|\$\$[\s\S]+?\$\$|(?<![\\$])\$(?![\s$])[^$`\n]*?(?<![\s\\$])\$(?![\d$])/g;
/** Marks of a quote that goes on in the next line are no part of the formula. */
const ESCAPED = /(\n[ \t>]*)|[!-/:-@[-`{-~]/g;

/** Noncharacters of Unicode, which stand around an escaped formula until it is parsed. */
const [OPEN, CLOSE] = ["\uFDD0", "\uFDD1"];
const MARKS = /[\uFDD0\uFDD1]/g;
const MARKED = /\uFDD0([^\uFDD0\uFDD1]*)\uFDD1/g;

function escapeFormulas(text: string): string {
  const source = text.replaceAll(MARKS, "");
  if (!source.includes("$") && !source.includes("\\(") && !source.includes("\\[")) return source;
  return source.replaceAll(INLINE, (found) =>
    // An address between two dollars is none of ours.
    found.startsWith("`") || found.includes("://") || found.includes("](")
      ? found
      : OPEN + found.replace(ESCAPED, (mark, line) => line ?? `\\${mark}`) + CLOSE,
  );
}

interface Node {
  type: string;
  value?: string;
  url?: string;
  title?: string | null;
  alt?: string | null;
  label?: string | null;
  data?: unknown;
  position?: { start: { offset?: number }; end: { offset?: number } };
  children?: Node[];
}

/** A remark plugin: what stands between the marks becomes a formula, and the marks go. */
function remarkMath() {
  return (tree: Node, file: { toString: () => string }): void => {
    const source = file.toString();
    if (source.includes(OPEN)) typeset(tree, source);
  };
}

function typeset(node: Node, source: string): void {
  for (const name of ["url", "title", "alt", "label"] as const) {
    const given = node[name];
    if (typeof given === "string") node[name] = given.replaceAll(MARKS, "");
  }
  // In code and in raw HTML the parser leaves the escapes as they are.
  if (node.value !== undefined && node.type !== "text") node.value = restored(node.value);
  if (node.children === undefined) return;
  node.children = node.children.flatMap((child) => {
    if (child.type === "text") return pieces(child, source);
    typeset(child, source);
    return [child];
  });
}

function restored(value: string): string {
  const unescaped = value.replaceAll(MARKED, (_, inner: string) =>
    inner.replaceAll(/\\([!-/:-@[-`{-~])/g, "$1"),
  );
  return unescaped.replaceAll(MARKS, "");
}

/** Texts and formulas, each with its place in the source: numbers of sources follow them. */
function pieces(node: Node, source: string): Node[] {
  const value = node.value ?? "";
  if (!value.includes(OPEN) && !value.includes(CLOSE)) return [node];
  const start = node.position?.start.offset ?? 0;
  const written = source.slice(start, node.position?.end.offset).split(/(?<=\uFDD1)|(?=\uFDD0)/);
  let at = start;
  return value.split(/(?<=\uFDD1)|(?=\uFDD0)/).map((piece, index) => {
    const from = at;
    at += written[index]?.length ?? 0;
    const position = { start: { offset: from }, end: { offset: at } };
    const isWhole = piece.startsWith(OPEN) && piece.endsWith(CLOSE);
    const text = piece.replaceAll(MARKS, "");
    if (!isWhole) return { type: "text", value: text, position };
    const hChildren = [{ type: "text", value: text }];
    return { type: "formula", position, data: { hName: "formula", hChildren } };
  });
}

export const math: MarkdownPlugin = {
  isOpenBlock,
  escapeText: escapeFormulas,
  remark: () => [remarkMath],
  components: {
    formula: ({ children }) => <Formula source={typeof children === "string" ? children : ""} />,
  },
};
