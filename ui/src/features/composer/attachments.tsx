import { ChevronRight, FileText, X } from "lucide-react";
import { useState } from "react";
import { composerStrings } from "@/i18n/en/composer";
import { cn } from "@/lib/classes";
import { bytes } from "@/lib/format";
import { Button } from "@/ui/button";
import { type Attachment, countLines } from "./paste";

interface AttachmentsProps {
  attachments: readonly Attachment[];
  onRemove: (id: string) => void;
  /** Into the text after all. */
  onInline: (attachment: Attachment) => void;
}

const SHOWN_CHARACTERS = 4000;
const t = composerStrings.attachments;

export function Attachments({ attachments, onRemove, onInline }: AttachmentsProps) {
  const [shown, setShown] = useState<string | null>(null);
  if (attachments.length === 0) return null;
  const open = attachments.find((one) => one.id === shown);
  return (
    <div className="px-2 pt-2">
      <ul aria-label={t.label} className="flex flex-wrap gap-1.5">
        {attachments.map((one) => (
          <li
            key={one.id}
            className="flex max-w-full items-center rounded-control border border-line bg-subtle text-meta"
          >
            <button
              type="button"
              aria-expanded={one.id === shown}
              onClick={() => setShown(one.id === shown ? null : one.id)}
              className="flex h-7 min-w-0 items-center gap-1.5 rounded-l-control px-2 hover:bg-hover coarse:h-11"
            >
              <FileText aria-hidden className="size-4 shrink-0 text-muted" />
              <span className="truncate">{one.name}</span>
              <span className="numeric shrink-0 text-muted">
                {t.size(countLines(one.text), bytes(one.text.length))}
              </span>
              <ChevronRight
                aria-hidden
                className={cn("size-3.5 shrink-0 text-faint", one.id === shown && "rotate-90")}
              />
            </button>
            <Button
              variant="plain"
              size="iconSmall"
              aria-label={t.remove(one.name)}
              onClick={() => onRemove(one.id)}
            >
              <X aria-hidden />
            </Button>
          </li>
        ))}
      </ul>
      {open !== undefined && (
        <div className="mt-1.5 rounded-control border border-line bg-bg">
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
            tabIndex={0}
            className="max-h-48 overflow-auto px-2 py-1 font-mono text-code break-words whitespace-pre-wrap"
          >
            {open.text.slice(0, SHOWN_CHARACTERS)}
            {open.text.length > SHOWN_CHARACTERS && "\n…"}
          </pre>
          <Button variant="plain" size="small" onClick={() => onInline(open)}>
            {t.insert}
          </Button>
        </div>
      )}
    </div>
  );
}
