/** The extensions of Markdown, in the order in which they are applied. */
import { citations } from "./citations";
import { directives } from "./directives";
import { footnotes } from "./footnotes";
import { gfm } from "./gfm";
import { math } from "./math";
import type { MarkdownPlugin, MessageContext, OpenBlock } from "./plugin";

const PLUGINS: readonly MarkdownPlugin[] = [gfm, footnotes, math, directives, citations];

export function openBlock(line: string): OpenBlock | null {
  for (const { isOpenBlock } of PLUGINS) {
    const open = isOpenBlock?.(line) ?? null;
    if (open !== null) return open;
  }
  return null;
}

export function escaped(text: string): string {
  return PLUGINS.reduce((source, { escapeText }) => escapeText?.(source) ?? source, text);
}

export function remarkPlugins(message: MessageContext) {
  return PLUGINS.flatMap(({ remark }) => remark?.(message) ?? []);
}

export const pluginComponents = Object.assign({}, ...PLUGINS.map(({ components }) => components));
