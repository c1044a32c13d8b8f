/**
 * Markdown of a model or a user, drawn block by block: only the block that grows is parsed again.
 * Its extensions are in `plugins`.
 *
 * Nothing in it can load or run anything: no raw HTML (it is shown as text), no images but those of
 * trusted hosts (of others a placeholder names the host), and only whole http and mail addresses are
 * links.
 *
 * react-markdown with our own split rather than streamdown: 48 KB against 151 KB gzipped, twice as
 * fast to mount, and code never passes through the parser.
 */
import { ImageOff } from "lucide-react";
import { memo, type ReactNode, useMemo, useState } from "react";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remend from "remend";
import { markdownStrings as t } from "@/i18n/en/markdown";
import { type Block, definitionsPrefix, extend, type Split, split } from "./blocks";
import { type CitationMark, NO_MARKS, offsetInSource, placeMarks, uniqueMarks } from "./citations";
import { CodeBlock } from "./code-block";
import { Diagram } from "./diagram";
import { hostOf, isShown, safeAddress } from "./links";
import { escaped, pluginComponents, remarkPlugins } from "./plugins";
import { labelsPrefix } from "./plugins/footnotes";
import { Formula } from "./plugins/formula";

interface MarkdownProps {
  text: string;
  /** It is still growing: what is not closed yet is drawn as if it were. */
  isLive?: boolean;
  /** Numbers of sources in it, in ascending order. */
  marks?: readonly CitationMark[] | undefined;
}

export function Markdown({ text, isLive = false, marks = NO_MARKS }: MarkdownProps) {
  const made = useSplit(text);
  const { blocks, definitions, footnotes } = made;
  const placed = useMemo(() => placeMarks(made, marks), [made, marks]);
  const labels = footnotes.map((note) => note.label).join("\n");
  const last = blocks.length - 1;
  return (
    <div className="markdown" dir="auto">
      {blocks.map((block, at) => (
        <BlockView
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
          key={at}
          block={block}
          definitions={definitions}
          labels={labels}
          marks={placed.blocks.get(at) ?? NO_MARKS}
          isOpen={isLive && at === last}
        />
      ))}
      {footnotes.length > 0 && (
        <section aria-label={t.footnotes} className="footnotes">
          <ol>
            {footnotes.map((note) => (
              <li key={note.label}>
                <BlockView
                  block={{ kind: "prose", text: note.text }}
                  definitions={definitions}
                  labels={labels}
                  marks={placed.footnotes.get(note.label) ?? NO_MARKS}
                  isOpen={false}
                />
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

/** State that follows from `text` and the state before it; set while rendering, as React allows. */
function useSplit(text: string): Split {
  const [known, setKnown] = useState(() => split(text));
  if (known.text === text) return known;
  const next = extend(known, text);
  setKnown(next);
  return next;
}

interface BlockProps {
  block: Block;
  definitions: string;
  /** Of the message's footnotes, a line each: as a text, so that blocks can be compared. */
  labels: string;
  marks: readonly CitationMark[];
  isOpen: boolean;
}

function isSameBlock(one: BlockProps, other: BlockProps): boolean {
  if (one.isOpen !== other.isOpen || one.block.kind !== other.block.kind) return false;
  if (one.marks !== other.marks) return false;
  if (one.block.kind === "fence" && other.block.kind === "fence") {
    const { code, closed, language, title } = one.block;
    return (
      title === other.block.title &&
      code === other.block.code &&
      closed === other.block.closed &&
      language === other.block.language
    );
  }
  return textOf(one.block) === textOf(other.block) && prefixOf(one) === prefixOf(other);
}

function textOf(block: Block): string {
  return block.kind === "fence" ? block.code : block.text;
}

function labelsOf({ labels }: BlockProps): string[] {
  return labels === "" ? [] : labels.split("\n");
}

/** Definitions of other blocks. Before the block's own text, whose end may still be open. */
function prefixOf(props: BlockProps): string {
  const text = textOf(props.block);
  return labelsPrefix(text, labelsOf(props)) + definitionsPrefix(text, props.definitions);
}

const BlockView = memo(function BlockView(props: BlockProps) {
  const { block, isOpen, marks } = props;
  if (block.kind === "fence") {
    const isWriting = isOpen && !block.closed;
    return (
      <>
        <Code {...block} isWriting={isWriting} />
        <MarksBelow marks={marks} />
      </>
    );
  }
  if (block.kind === "footnote") return null; // they stand at the end of the message
  if (block.kind === "verbatim" || block.text.length > PARSED_MAX) {
    return (
      <>
        {block.kind === "verbatim" ? (
          <Formula source={block.text} isBlock />
        ) : (
          <p className="whitespace-pre-wrap wrap-anywhere">{block.text}</p>
        )}
        <MarksBelow marks={marks} />
      </>
    );
  }
  const prefix = prefixOf(props);
  const text = escaped(block.text);
  const placed = marks.map((mark) => ({ ...mark, at: offsetInSource(block.text, text, mark.at) }));
  return (
    <ReactMarkdown
      remarkPlugins={remarkPlugins({
        labels: labelsOf(props),
        prefixLength: prefix.length,
        marks: placed,
      })}
      components={COMPONENTS}
      urlTransform={(address) => safeAddress(address)?.href ?? null}
    >
      {prefix + (isOpen ? remend(text) : text)}
    </ReactMarkdown>
  );
}, isSameBlock);

interface CodeProps {
  code: string;
  language: string;
  title: string;
  isWriting: boolean;
}

function Code({ code, language, title, isWriting }: CodeProps) {
  if (language === "mermaid" && !isWriting) return <Diagram code={code} title={title} />;
  return <CodeBlock code={code} language={language} title={title} isWriting={isWriting} />;
}

/** Numbers of sources below a block that is not parsed. */
function MarksBelow({ marks }: { marks: readonly CitationMark[] }) {
  if (marks.length === 0) return null;
  return (
    <p>
      {uniqueMarks(marks).map(({ number, title, url }) => (
        <sup key={number} className="citation">
          <Link href={url} label={t.source(number, title)}>
            {number}
          </Link>
        </sup>
      ))}
    </p>
  );
}

/**
 * Characters of one paragraph, list or table; what is longer is shown as it was written. The parser
 * takes time with the square of it: one of 110,000 held the page up for a quarter of a minute.
 */
const PARSED_MAX = 20_000;

const COMPONENTS: Components = {
  ...pluginComponents,
  a: ({ href, children, "aria-label": label }) => (
    <Link href={href} label={label}>
      {children}
    </Link>
  ),
  img: ({ src, alt }) => <Picture address={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
  // A fence inside a list or a quote; those at the top level come from the split.
  pre: ({ node, children }) => <NestedCode title={metaOf(node)}>{children}</NestedCode>,
  // Headings begin below those of the page: h1 is the chat's title, h2 a turn.
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  h6: ({ children }) => <h6>{children}</h6>,
};

interface LinkProps {
  href: string | undefined;
  /** Its name, if the children alone do not say where it leads. */
  label?: string | undefined;
  children: ReactNode;
}

function Link({ href, label, children }: LinkProps) {
  const url = safeAddress(href);
  if (url === null && label !== undefined) {
    return (
      <span role="img" aria-label={label}>
        {children}
      </span>
    );
  }
  if (url === null) return <span>{children}</span>;
  return (
    <a
      href={url.href}
      title={url.href}
      aria-label={label}
      target="_blank"
      rel="noopener noreferrer"
    >
      {children}
    </a>
  );
}

/** An image of another host is not fetched: its author would learn who reads the chat, and when. */
function Picture({ address, alt }: { address: string; alt: string }) {
  const url = safeAddress(address);
  if (url !== null && isShown(url))
    return <img src={url.href} alt={alt} title={alt} loading="lazy" referrerPolicy="no-referrer" />;
  const label = t.image(alt, hostOf(address));
  return (
    <span className="picture">
      <ImageOff aria-hidden />
      {url === null ? label : <Link href={url.href}>{label}</Link>}
    </span>
  );
}

/** What follows the language of a fence: a part of its node, and of no element. */
function metaOf(pre: ExtraProps["node"]): string {
  const code = pre?.children[0];
  const data: { meta?: string | null } = code?.type === "element" ? (code.data ?? {}) : {};
  return data.meta ?? "";
}

function NestedCode({ title, children }: { title: string; children?: React.ReactNode }) {
  const code = codeIn(children);
  if (code === null) return <pre>{children}</pre>;
  return (
    <Code
      code={code.text.replace(/\n$/, "")}
      language={code.language}
      title={title}
      isWriting={false}
    />
  );
}

function codeIn(children: React.ReactNode): { text: string; language: string } | null {
  if (typeof children !== "object" || children === null || !("props" in children)) return null;
  const props = children.props as { children?: unknown; className?: string };
  if (typeof props.children !== "string") return null;
  return {
    text: props.children,
    language: /language-(\S+)/.exec(props.className ?? "")?.[1] ?? "",
  };
}
