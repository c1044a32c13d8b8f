/** What an extension of Markdown brings: syntax, elements, and blocks that are not to be split. */
import type { ReactNode } from "react";
import type { Components, Options } from "react-markdown";
import type { CitationMark } from "@/markdown/citations";

export interface OpenBlock {
  /** Whether the block ends with this line, which still belongs to it. */
  closes: (line: string) => boolean;
  /** The first line closes it as well. */
  isClosed: boolean;
  /** A formula: it never reaches the parser. */
  isVerbatim: boolean;
  /** A block that is never closed ends at the first blank line after this many characters. */
  charactersMax: number;
}

/** What the parser of one block has to know of its message. */
export interface MessageContext {
  /** Labels of the footnotes, in the order of their numbers. */
  labels: readonly string[];
  /** How many characters before the block's own text define what other blocks have. */
  prefixLength: number;
  /** Of the block, in ascending order. */
  marks: readonly CitationMark[];
}

/** Elements that only a plugin makes: HTML has none of these names, and a source cannot name them. */
interface Elements {
  formula?: (props: { children?: ReactNode }) => ReactNode;
}

export interface MarkdownPlugin {
  remark?: (message: MessageContext) => NonNullable<Options["remarkPlugins"]>;
  components?: Components & Elements;
  /** The block that begins with this line, if blank lines must not split it. */
  isOpenBlock?: (line: string) => OpenBlock | null;
  /** Escapes what the parser must not read as Markdown. Keeps every visible character. */
  escapeText?: (text: string) => string;
}
