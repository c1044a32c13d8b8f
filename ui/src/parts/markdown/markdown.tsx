/**
 * What a model or a person wrote, drawn block by block: only the block that grows is parsed again.
 *
 * Nothing that was written can load or run anything: no raw HTML (it is shown as the text that it
 * is), no images but those of trusted hosts (of others a placeholder names the host), and only whole
 * http and mail addresses are links.
 *
 * react-markdown with our own split rather than streamdown: 48 KB against 151 KB gzipped, twice as
 * fast to mount, and code never passes through the parser.
 */
import { ImageOff } from "lucide-react";
import { type ComponentProps, memo, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { type Block, extend, NOTHING, type Prose, type Split, source } from "./blocks";
import { CodeBlock } from "./code-block";
import { hostOf, isShown, safeAddress } from "./links";

interface MarkdownProps {
  text: string;
  /** It is still growing: what is not closed yet is drawn as if it were. */
  isLive?: boolean;
}

export function Markdown({ text, isLive = false }: MarkdownProps) {
  const { blocks, definitions } = useSplit(text);
  const last = blocks.length - 1;
  return (
    <div className="markdown" dir="auto">
      {blocks.map((block, at) => (
        <BlockView
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end
          key={at}
          block={block}
          definitions={definitions}
          isOpen={isLive && at === last}
        />
      ))}
    </div>
  );
}

function useSplit(text: string): Split {
  const before = useRef<Split>(NOTHING);
  before.current = extend(before.current, text);
  return before.current;
}

interface BlockProps {
  block: Block;
  definitions: string;
  isOpen: boolean;
}

function isSameBlock(one: BlockProps, other: BlockProps): boolean {
  if (one.isOpen !== other.isOpen || one.block.kind !== other.block.kind) return false;
  if (one.block.kind === "fence" && other.block.kind === "fence") {
    const { code, closed, language } = one.block;
    return (
      code === other.block.code &&
      closed === other.block.closed &&
      language === other.block.language
    );
  }
  const [a, b] = [one.block as Prose, other.block as Prose];
  return source(a, one.definitions) === source(b, other.definitions);
}

const BlockView = memo(function BlockView({ block, definitions, isOpen }: BlockProps) {
  if (block.kind === "fence") {
    const isWriting = isOpen && !block.closed;
    return <CodeBlock code={block.code} language={block.language} isWriting={isWriting} />;
  }
  if (block.text.length > PARSED_MAX) {
    return <p className="whitespace-pre-wrap wrap-anywhere">{block.text}</p>;
  }
  const text = source(block, definitions);
  return (
    <ReactMarkdown
      remarkPlugins={PLUGINS}
      components={COMPONENTS}
      urlTransform={(address) => safeAddress(address)?.href ?? null}
    >
      {isOpen ? remend(text) : text}
    </ReactMarkdown>
  );
}, isSameBlock);

/**
 * Characters of one paragraph, list or table; what is longer is shown as it was written. The parser
 * takes time with the square of it: one of 110,000 held the page up for a quarter of a minute.
 */
const PARSED_MAX = 20_000;
const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Picture address={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
  // A fence inside a list or a quote; those at the top level come from the split.
  pre: ({ children }) => <NestedCode>{children}</NestedCode>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
    <section className="table" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </section>
  ),
  input: ({ checked, type }) =>
    type === "checkbox" ? (
      <input
        type="checkbox"
        checked={checked === true}
        disabled
        aria-label={checked ? "done" : "to do"}
      />
    ) : null,
  // Headings begin below those of the page: h1 is the chat's title, h2 a turn.
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  h6: ({ children }) => <h6>{children}</h6>,
};

function Link({ href, children }: Pick<ComponentProps<"a">, "href" | "children">) {
  const url = safeAddress(href);
  if (url === null) return <span>{children}</span>;
  return (
    <a href={url.href} title={url.href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** An image on a strange host is not fetched: whoever wrote the address would learn who reads this. */
function Picture({ address, alt }: { address: string; alt: string }) {
  const url = safeAddress(address);
  if (url !== null && isShown(url))
    return <img src={url.href} alt={alt} title={alt} loading="lazy" referrerPolicy="no-referrer" />;
  const label = `Image${alt === "" ? "" : ` “${alt}”`} · ${hostOf(address)}`;
  return (
    <span className="picture">
      <ImageOff aria-hidden />
      {url === null ? label : <Link href={url.href}>{label}</Link>}
    </span>
  );
}

function NestedCode({ children }: { children?: React.ReactNode }) {
  const code = codeIn(children);
  if (code === null) return <pre>{children}</pre>;
  return (
    <CodeBlock code={code.text.replace(/\n$/, "")} language={code.language} isWriting={false} />
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
