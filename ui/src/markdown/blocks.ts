/**
 * Splits Markdown into blocks, so that only the last one is parsed again while it grows.
 *
 * A block is a fence, a footnote, a formula, or prose up to the next blank line that really
 * separates: inside a list, before indented lines and in a block that a plugin has opened, a blank
 * line does not. Fences and formulas at the top level never reach the Markdown parser: however long
 * the code, a delta costs the drawing of the code and nothing else.
 */
import { openBlock } from "./plugins";
import { type Footnote, footnoteIn, footnotesOf, isDefinition } from "./plugins/footnotes";
import type { OpenBlock } from "./plugins/plugin";

interface Prose {
  kind: "prose";
  text: string;
}

/** Shown as it was written. */
interface Verbatim {
  kind: "verbatim";
  text: string;
}

interface FootnoteBlock extends Footnote {
  kind: "footnote";
}

interface Fence {
  kind: "fence";
  language: string;
  /** What follows the language behind the mark. */
  title: string;
  code: string;
  closed: boolean;
}

export type Block = Prose | Verbatim | FootnoteBlock | Fence;

export interface Split {
  text: string;
  blocks: readonly Block[];
  /** Where each block begins in `text`. */
  starts: readonly number[];
  /** `[name]: address` lines, which blocks elsewhere may refer to. */
  definitions: string;
  /** Those of the whole text, in the order of their numbers. */
  footnotes: readonly Footnote[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/;
const ANY_FENCE = /^[ \t]*(`{3,}(?=[^`]*$)|~{3,})/;
const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;
const INDENTED = /^(?: {2,}|\t)\S/;
const BLANK = /^[ \t]*$/;
const DEFINITION = /^ {0,3}\[(?!\^)[^\]\n]{1,200}\]:[ \t]*\S.*$/;

export const NOTHING: Split = { text: "", blocks: [], starts: [], definitions: "", footnotes: [] };

export function split(text: string): Split {
  return scan(text, 0, [], []);
}

/** The split of a text that begins with what was split before: only its end is looked at again. */
export function extend(before: Split, text: string): Split {
  if (text === before.text) return before;
  if (!text.startsWith(before.text) || before.blocks.length < 3) return split(text);
  // Two blocks back, not one: the line that closed the last but one may have been half a line, and
  // what it has become ("1", then "1. and") may belong to the block before it.
  const kept = before.blocks.length - 2;
  const from = before.starts[kept] ?? 0;
  return scan(text, from, before.blocks.slice(0, kept), before.starts.slice(0, kept));
}

function scan(text: string, from: number, blocks: Block[], starts: number[]): Split {
  let at = from;
  while (at < text.length) {
    const line = lineAt(text, at);
    if (BLANK.test(line)) {
      at += line.length + 1;
      continue;
    }
    starts.push(at);
    const [block, end] = blockAt(text, at, line);
    blocks.push(block);
    at = end;
  }
  return {
    text,
    blocks,
    starts,
    definitions: definitionsOf(blocks),
    footnotes: footnotesOf(blocks),
  };
}

function blockAt(text: string, at: number, line: string): [Block, number] {
  const fence = opening(line);
  if (fence !== null) {
    const end = fenceEnd(text, at, fence);
    return [fenced(text, at, end, fence), end];
  }
  if (isDefinition(line)) {
    const end = footnoteEnd(text, at);
    return [{ kind: "footnote", ...footnoteIn(trimmed(text, at, end)) }, end];
  }
  const open = openBlock(line);
  const end = open === null ? proseEnd(text, at) : openEnd(text, at, open);
  const kind = open?.isVerbatim ? "verbatim" : "prose";
  return [{ kind, text: trimmed(text, at, end) }, end];
}

/** A line that ends the prose before it, without a blank line between them. */
function interrupts(line: string): boolean {
  return opening(line) !== null || isDefinition(line) || openBlock(line) !== null;
}

interface Opening {
  mark: string;
  info: string;
}

function opening(line: string): Opening | null {
  const match = FENCE.exec(line);
  if (match === null) return null;
  const [, mark = "", info = ""] = match;
  // `` ```a``` `` on one line is inline code, not a fence.
  return mark[0] === "`" && info.includes("`") ? null : { mark, info };
}

function closes(line: string, mark: string): boolean {
  const bare = line.trim();
  return bare.length >= mark.length && bare === (mark[0] ?? "").repeat(bare.length);
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.slice(at) : text.slice(at, end);
}

function fenceEnd(text: string, start: number, fence: Opening): number {
  let at = start + lineAt(text, start).length + 1;
  while (at < text.length) {
    const line = lineAt(text, at);
    at += line.length + 1;
    if (/^ {0,3}\S/.test(line) && closes(line, fence.mark)) break;
  }
  return Math.min(at, text.length);
}

function fenced(text: string, start: number, end: number, fence: Opening): Fence {
  const lines = text.slice(start, end).replace(/\n$/, "").split("\n");
  const last = lines.length > 1 ? (lines.at(-1) ?? "") : "";
  const closed = closes(last, fence.mark);
  const code = lines.slice(1, closed ? -1 : undefined).join("\n");
  const info = fence.info.trim();
  const language = info.split(/[\s{]/)[0] ?? "";
  const title = info.slice(language.length).trim();
  return { kind: "fence", language: language.toLowerCase(), title, code, closed };
}

/** The end of a block that a plugin has opened: past the line that closes it. */
function openEnd(text: string, start: number, open: OpenBlock): number {
  let at = start + lineAt(text, start).length + 1;
  let inner: string | null = null; // the mark of a fence inside it
  if (open.isClosed) return Math.min(at, text.length);
  while (at < text.length) {
    const line = lineAt(text, at);
    if (BLANK.test(line) && at - start > open.charactersMax) break;
    at += line.length + 1;
    if (inner === null && open.closes(line)) break;
    if (!open.isVerbatim) inner = innerFence(line, inner);
  }
  return Math.min(at, text.length);
}

/** A line at the margin that begins a block of its own, and so ends a footnote. */
const AFTER_FOOTNOTE = /^ {0,3}(?:#{1,6}[ \t]|>|[-*+][ \t]|\d{1,9}[.)][ \t]|\||<)/;

/** Lines that follow at once, and after blank lines those that are indented. */
function footnoteEnd(text: string, start: number): number {
  let at = start + lineAt(text, start).length + 1;
  let inner: string | null = null; // the mark of a fence inside it
  while (at < text.length) {
    const line = lineAt(text, at);
    if (BLANK.test(line)) {
      const after = pastBlanks(text, at);
      if (!INDENTED.test(lineAt(text, after))) return Math.min(after, text.length);
      at = after;
      continue;
    }
    const isInner = /^(?: {2,}|\t)/.test(line);
    if (inner === null && !isInner && (interrupts(line) || AFTER_FOOTNOTE.test(line))) return at;
    if (isInner) inner = innerFence(line, inner);
    at += line.length + 1;
  }
  return text.length;
}

/** The end of the prose that begins at `start`: past the blank line that separates it. */
function proseEnd(text: string, start: number): number {
  let at = start;
  let inner: string | null = null; // the mark of a fence inside a list item
  let isList = false;
  while (at < text.length) {
    const line = lineAt(text, at);
    isList ||= LIST_ITEM.test(line);
    // In a list, what is indented belongs to it, a fence as well.
    const isInner = isList && /^\s/.test(line);
    if (inner === null && !isInner && at > start && interrupts(line)) return at;
    if (isInner) inner = innerFence(line, inner);
    const next = at + line.length + 1;
    if (inner === null && next < text.length && BLANK.test(lineAt(text, next))) {
      const after = pastBlanks(text, next);
      if (!goesOn(lineAt(text, after), isList)) return Math.min(after, text.length);
      at = after;
      continue;
    }
    at = next;
  }
  return text.length;
}

function innerFence(line: string, open: string | null): string | null {
  const mark = ANY_FENCE.exec(line)?.[1];
  if (mark === undefined) return open;
  if (open === null) return mark;
  return closes(line, open) ? null : open;
}

function pastBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const line = lineAt(text, at);
    if (!BLANK.test(line)) break;
    at += line.length + 1;
  }
  return at;
}

function goesOn(line: string, isList: boolean): boolean {
  return INDENTED.test(line) || (isList && LIST_ITEM.test(line));
}

function trimmed(text: string, start: number, end: number): string {
  return text.slice(start, end).replace(/\s+$/, "");
}

function definitionsOf(blocks: readonly Block[]): string {
  const found: string[] = [];
  for (const block of blocks) {
    if (block.kind !== "prose" || !block.text.includes("]:")) continue;
    found.push(...block.text.split("\n").filter((line) => DEFINITION.test(line)));
  }
  return found.join("\n");
}

/** Definitions that a text may refer to and does not hold itself. */
export function definitionsPrefix(text: string, definitions: string): string {
  return definitions === "" || !text.includes("[") ? "" : `${definitions}\n\n`;
}
