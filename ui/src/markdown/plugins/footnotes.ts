/**
 * Footnotes of a whole message. Blocks are parsed one by one, so a reference and its definition are
 * usually in different blocks. The split makes a block of each definition; they are numbered in the
 * order of their first reference and drawn once, at the end of the message.
 */
import type { Block } from "@/markdown/blocks";
import type { MarkdownPlugin, MessageContext } from "./plugin";

export interface Footnote {
  label: string;
  /** Markdown. */
  text: string;
}

const DEFINITION = /^ {0,3}\[\^([^\]\s]{1,200})\]:[ \t]*(.*)$/;
const REFERENCE = /\[\^([^\]\s]{1,200})\](?!:)/g;

export function isDefinition(line: string): boolean {
  return DEFINITION.test(line);
}

/** The source of a definition, taken apart. */
export function footnoteIn(source: string): Footnote {
  const [first = "", ...rest] = source.split("\n");
  const [, label = "", text = ""] = DEFINITION.exec(first) ?? [];
  const lines = [text, ...rest.map((line) => line.replace(/^(?: {1,4}|\t)/, ""))];
  return { label: normal(label), text: lines.join("\n").trim() };
}

/** In the order of their numbers: first those that are referred to, then the others. */
export function footnotesOf(blocks: readonly Block[]): Footnote[] {
  const defined = new Map<string, string>();
  for (const block of blocks) {
    if (block.kind !== "footnote") continue;
    const { label, text } = block;
    const before = defined.get(label);
    defined.set(label, before === undefined ? text : `${before}\n\n${text}`);
  }
  if (defined.size === 0) return [];
  const order = new Set<string>();
  for (const block of blocks) {
    if (block.kind === "prose" || block.kind === "footnote")
      for (const [, label = ""] of block.text.matchAll(REFERENCE)) order.add(normal(label));
  }
  for (const label of defined.keys()) order.add(label);
  return [...order].flatMap((label) => {
    const text = defined.get(label);
    return text === undefined ? [] : [{ label, text }];
  });
}

/** Labels are compared without regard to case, as GFM does. */
function normal(label: string): string {
  return label.toLowerCase();
}

/**
 * Makes the parser of one block know the labels of the whole message. The link definition at the end
 * closes the last note, which would go on with lines that are indented.
 */
export function labelsPrefix(text: string, labels: readonly string[]): string {
  if (labels.length === 0 || !text.includes("[^")) return "";
  return `${labels.map((label) => `[^${label}]: _`).join("\n\n")}\n\n[_]: #\n\n`;
}

interface Node {
  type: string;
  identifier?: string;
  label?: string;
  value?: string;
  data?: unknown;
  position?: { start: { offset?: number } };
  children?: Node[];
}

/** A remark plugin: a reference is drawn as its number in the message. */
function remarkFootnotes({ labels, prefixLength }: MessageContext) {
  const visit = (node: Node): void => {
    node.children = node.children?.flatMap((each) =>
      each.type === "footnoteDefinition" ? definition(each, prefixLength) : [each],
    );
    for (const child of node.children ?? []) {
      if (child.type === "footnoteReference") number(child, labels);
      else visit(child);
    }
  };
  return visit;
}

/** Those of other blocks are not drawn here; one inside a list or a quote is drawn where it is. */
function definition(node: Node, prefixLength: number): Node[] {
  if ((node.position?.start.offset ?? 0) < prefixLength) return [];
  const label = { type: "text", value: `[^${node.label ?? node.identifier}]:` };
  return [{ type: "paragraph", children: [label] }, ...(node.children ?? [])];
}

function number(node: Node, labels: readonly string[]): void {
  const at = labels.indexOf(normal(node.identifier ?? ""));
  if (at < 0) {
    node.type = "text";
    node.value = `[^${node.label ?? node.identifier}]`;
    return;
  }
  node.type = "footnoteNumber"; // unknown to the default handlers, which would list the note again
  node.data = {
    hName: "sup",
    hProperties: { role: "doc-noteref" },
    hChildren: [{ type: "text", value: String(at + 1) }],
  };
}

export const footnotes: MarkdownPlugin = {
  remark: (message) => [[remarkFootnotes, message]],
};
