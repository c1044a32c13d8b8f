/**
 * Numbers of sources behind the words that rest on them. A number never stands inside code or a link:
 * it follows the whole of it. Where a text cannot be matched with its source, the number stands at
 * the end of the node that holds it.
 */
import { markdownStrings as t } from "@/i18n/en/markdown";
import { type CitationMark, lengthBefore } from "@/markdown/citations";
import type { MarkdownPlugin, MessageContext } from "./plugin";

interface Node {
  type: string;
  value?: string;
  data?: unknown;
  position?: { start: { offset?: number }; end: { offset?: number } };
  children?: Node[];
  number?: number;
}

/** Nodes that hold text and inline nodes. */
const INLINE_PARENTS = new Set([
  "paragraph",
  "heading",
  "tableCell",
  "strong",
  "emphasis",
  "delete",
]);
/** Of these, the ones that stand in a line themselves. */
const INLINE = new Set(["strong", "emphasis", "delete"]);
const BLOCK_PARENTS = new Set([
  ...["root", "blockquote", "list", "listItem"],
  ...["table", "tableRow", "footnoteDefinition"],
]);

/** A remark plugin. Marks are in ascending order. */
function remarkCitations({ marks, prefixLength }: MessageContext) {
  return (tree: Node, file: { toString: () => string }): void => {
    const source = file.toString();
    for (const mark of marks) {
      insert(tree, citation(mark), Math.min(prefixLength + mark.at, source.length), source);
    }
  };
}

function citation({ number, title, url }: CitationMark): Node {
  const link = {
    type: "element",
    tagName: "a",
    properties: { href: url, ariaLabel: t.source(number, title) },
    children: [{ type: "text", value: String(number) }],
  };
  const data = { hName: "sup", hProperties: { className: ["citation"] }, hChildren: [link] };
  return { type: "citation", number, data };
}

function insert(parent: Node, mark: Node, offset: number, source: string): void {
  const children = parent.children ?? [];
  const at = children.findIndex((child) => startOf(child) < offset && offset <= endOf(child));
  const child = children[at];
  if (child === undefined) append(parent, mark);
  else if (isParent(child) && !(INLINE.has(child.type) && offset === endOf(child)))
    insert(child, mark, offset, source);
  else {
    const rest = child.type === "text" ? cut(child, offset, source) : null;
    if (rest !== null) children.splice(at + 1, 0, rest);
    insertAfter(parent, at, mark);
  }
}

function isParent({ type }: Node): boolean {
  return INLINE_PARENTS.has(type) || BLOCK_PARENTS.has(type);
}

const startOf = (node: Node): number => node.position?.start.offset ?? Number.POSITIVE_INFINITY;
const endOf = (node: Node): number => node.position?.end.offset ?? Number.NEGATIVE_INFINITY;

/** Leaves in `node` what comes before `offset`; the result is the rest. */
function cut(node: Node, offset: number, source: string): Node | null {
  const [value, start, end] = [node.value ?? "", startOf(node), endOf(node)];
  const length = lengthBefore(value, source.slice(start, end), offset - start);
  if (length >= value.length) return null;
  node.value = value.slice(0, length);
  node.position = { start: { offset: start }, end: { offset } };
  const position = { start: { offset }, end: { offset: end } };
  return { type: "text", value: value.slice(length), position };
}

/** Behind the child, and behind the numbers that already follow it; none comes there twice. */
function insertAfter(parent: Node, at: number, mark: Node): void {
  const children = parent.children ?? [];
  let end = at + 1;
  if (INLINE_PARENTS.has(parent.type)) {
    const known = [];
    for (; children[end]?.type === "citation"; end++) known.push(children[end]?.number);
    if (!known.includes(mark.number)) children.splice(end, 0, mark);
    return;
  }
  const next = children[end];
  if (next?.type === "paragraph" && next.children?.[0]?.type === "citation") append(next, mark);
  else children.splice(end, 0, { type: "paragraph", children: [mark] });
}

/** At the end of the last text in a node. */
function append(parent: Node, mark: Node): void {
  const children = parent.children ?? [];
  const last = children.findLast((child) => child.type !== "citation");
  if (!INLINE_PARENTS.has(parent.type) && last !== undefined && isParent(last)) append(last, mark);
  else insertAfter(parent, last === undefined ? -1 : children.lastIndexOf(last), mark);
}

export const citations: MarkdownPlugin = {
  remark: (message) => (message.marks.length === 0 ? [] : [[remarkCitations, message]]),
};
