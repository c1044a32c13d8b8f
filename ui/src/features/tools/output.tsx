import { toolStrings } from "@/i18n/en/tools";
import { tail } from "@/lib/format";

/** What a tool said, as it said it: bounded in height, reachable by key. */
export function Output({ text, label }: { text: string; label: string }) {
  if (text.trim() === "")
    return <p className="px-3 py-2 text-meta text-muted">{toolStrings.body.noOutput}</p>;
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
      tabIndex={0}
      aria-label={label}
      className="max-h-80 overflow-auto px-3 py-2"
    >
      <pre className="text-code font-mono break-words whitespace-pre-wrap" dir="auto">
        {text}
      </pre>
    </section>
  );
}

const TAIL_LINES = 3;

/** The end of what a running tool shows. Not announced: it changes too often. */
export function LiveTail({ text }: { text: string }) {
  if (text.trim() === "") return null;
  return (
    <pre
      aria-hidden
      className="ml-6 truncate border-l-2 border-line pl-3 text-code font-mono text-muted"
    >
      {tail(text, TAIL_LINES).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is what stands at its place
        <span key={at} className="block truncate">
          {line === "" ? " " : line}
        </span>
      ))}
    </pre>
  );
}
