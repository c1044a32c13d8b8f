/** Text, reasoning and sources of the model. */
import { Brain, ChevronRight } from "lucide-react";
import { memo } from "react";
import { useLiveText } from "@/features/chat/live";
import { transcriptStrings } from "@/i18n/en/transcript";
import { cn } from "@/lib/classes";
import { tail } from "@/lib/format";
import type { CitationMark } from "@/markdown/citations";
import { safeAddress } from "@/markdown/links";
import { Markdown } from "@/markdown/markdown";
import { type Source, sourceLabel } from "./sources";

const t = transcriptStrings;

interface StreamedTextProps {
  /** `null`: it is being said. */
  text: string | null;
  index: number;
}

interface AssistantTextProps extends StreamedTextProps {
  /** Numbers of its sources. */
  marks?: readonly CitationMark[] | undefined;
}

/** The same element before and after its message is committed: nothing is mounted anew. */
export const AssistantText = memo(function AssistantText(props: AssistantTextProps) {
  const { text, index, marks } = props;
  const live = useLiveText(index);
  return <Markdown text={text ?? live} isLive={text === null} marks={marks} />;
});

interface ReasoningProps extends StreamedTextProps {
  isOpen: boolean;
  onToggle: () => void;
}

export const Reasoning = memo(function Reasoning({
  text,
  index,
  isOpen,
  onToggle,
}: ReasoningProps) {
  const live = useLiveText(index);
  const isLive = text === null;
  const words = text ?? live;
  return (
    <div>
      <button
        type="button"
        data-row-action="toggle"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex h-7 w-full items-center gap-2 rounded-control text-left text-ui text-muted hover:bg-hover coarse:h-11"
      >
        <Brain aria-hidden className="size-4 shrink-0 text-faint" />
        <span className="shrink-0">{isLive ? t.thinking : t.thought}</span>
        <span className="min-w-0 flex-1 truncate text-faint">
          {isOpen ? "" : excerpt(words, isLive)}
        </span>
        <ChevronRight
          aria-hidden
          className={cn("size-4 shrink-0 text-faint", isOpen && "rotate-90")}
        />
      </button>
      {isOpen && (
        <div className="mt-1 ml-2 border-l-2 border-line pl-4 text-muted">
          <Markdown text={words} isLive={isLive} />
        </div>
      )}
    </div>
  );
});

/** While it thinks, what it thinks now; afterwards, how it began. */
function excerpt(words: string, isLive: boolean): string {
  const line = isLive ? (tail(words, 1)[0] ?? "") : (words.trim().split("\n")[0] ?? "");
  return line.replace(/^#+ |[*_`]/g, "");
}

export function Sources({ sources }: { sources: readonly Source[] }) {
  return (
    <ol aria-label={t.sources} className="flex flex-wrap gap-1">
      {sources.map((source, at) => {
        const address = safeAddress(source.url);
        const label = sourceLabel(source);
        const look =
          "inline-flex h-6 max-w-64 items-center gap-1 rounded-control border border-line px-2 text-meta";
        return (
          <li key={source.url} className="max-w-full">
            {address === null ? (
              <span className={cn(look, "text-muted")}>
                <span className="numeric text-faint">{at + 1}</span>
                <span className="truncate">{label}</span>
              </span>
            ) : (
              <a
                href={address.href}
                title={address.href}
                target="_blank"
                rel="noopener noreferrer"
                className={cn(look, "hover:bg-hover")}
              >
                <span className="numeric text-faint">{at + 1}</span>
                <span className="truncate">{label}</span>
              </a>
            )}
          </li>
        );
      })}
    </ol>
  );
}
