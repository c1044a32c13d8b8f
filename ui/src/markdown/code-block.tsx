/**
 * A block of code: its language, copy, wrap; folded when it is long; coloured once it is closed.
 *
 * Colours come after the fact and change no metrics, so nothing moves. While it is being written and
 * longer than the fold, its last lines are shown, in the height that the folded block will have.
 */
import { ChevronDown, WrapText } from "lucide-react";
import { useId, useState } from "react";
import { markdownStrings as t } from "@/i18n/en/markdown";
import { cn } from "@/lib/classes";
import { plural } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import type { Token } from "./highlight";
import { useTokens } from "./use-tokens";

const FOLD_LINES = 40;

interface CodeBlockProps {
  code: string;
  language: string;
  /** What follows the language behind the mark of a fence. */
  title?: string;
  /** Its fence is not closed yet. */
  isWriting: boolean;
  /** Where its lines are numbered from; not at all without. */
  firstLine?: number;
}

export function CodeBlock({ code, language, title = "", isWriting, firstLine }: CodeBlockProps) {
  const [isWrapped, setWrapped] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const lines = code.split("\n");
  const isLong = lines.length > FOLD_LINES;
  const isFolded = isLong && !isOpen;
  const from = isFolded && isWriting ? lines.length - FOLD_LINES : 0;
  const to = isFolded ? from + FOLD_LINES : lines.length;
  const isTail = from > 0 && !isWrapped;
  const tokens = useTokens(isWriting ? null : lines.slice(0, to).join("\n"), language);
  const name = language === "" ? t.plainText : language;
  return (
    <figure className="code-block" aria-label={t.code(name)}>
      <figcaption>
        <span className="truncate">{title === "" ? name : `${name} ${title}`}</span>
        {isWriting && <span className="numeric">{plural(lines.length, "line")}</span>}
        <span className="grow" />
        <Button
          variant="plain"
          size="iconSmall"
          aria-label={t.wrapLines}
          aria-pressed={isWrapped}
          className={cn(isWrapped && "bg-selected text-fg")}
          onClick={() => setWrapped(!isWrapped)}
        >
          <WrapText aria-hidden />
        </Button>
        <CopyButton label={t.copyCode} text={() => code} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key */}
      <pre id={id} tabIndex={0} className={cn(isWrapped && "wrapped")}>
        <code className={cn(isTail && "tail")}>
          <span
            key={isTail ? "tail" : "whole"}
            className="block"
            style={isTail ? tailStyle(from) : undefined}
          >
            {lines.slice(from, to).map((line, at) => (
              <Line
                // biome-ignore lint/suspicious/noArrayIndexKey: a line is what stands at its place
                key={from + at}
                text={line}
                tokens={tokens?.[from + at] ?? null}
                number={firstLine === undefined ? null : firstLine + from + at}
              />
            ))}
          </span>
        </code>
      </pre>
      {isLong && !isWriting && (
        <Button
          variant="plain"
          size="small"
          className="w-full rounded-none border-t border-line"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        >
          <ChevronDown aria-hidden className={cn(isOpen && "rotate-180")} />
          {isOpen ? t.showFewer : t.showAll(lines.length)}
        </Button>
      )}
    </figure>
  );
}

/**
 * A line stays at its place in the code, and the code is moved: to the browser, lines that go up one
 * by one are a page that jumps. (Wrapped, a line has no known height, and they do go up.)
 */
function tailStyle(from: number): React.CSSProperties {
  return { paddingTop: `${from}lh`, transform: `translateY(-${from}lh)` };
}

function Line({
  text,
  tokens,
  number,
}: {
  text: string;
  tokens: readonly Token[] | null;
  number: number | null;
}) {
  return (
    <span className="line">
      {number !== null && <span className="line-number">{number}</span>}
      {/* The end of a line is in the same text as its end: to the browser, a node of its own would
          move with every word. */}
      {tokens === null || tokens.length === 0
        ? `${text}\n`
        : tokens.map((token, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens of a closed line do not move
            <span key={at} style={token.style}>
              {at === tokens.length - 1 ? `${token.text}\n` : token.text}
            </span>
          ))}
    </span>
  );
}
