/** A transcript without messages: nothing said yet, not here yet, or not for us. */
import { MessageSquareText, SearchX } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { transcriptStrings } from "@/i18n/en/transcript";

const t = transcriptStrings;

const SKELETON_AFTER_MS = 150;

export function EmptyTranscript() {
  return (
    <Centre>
      <MessageSquareText aria-hidden className="size-6 text-faint" />
      <h2 className="text-title font-semibold">{t.empty}</h2>
      <p className="max-w-80 text-ui text-muted">{t.emptyHint}</p>
    </Centre>
  );
}

/** Only after a moment: what is there at once should not flicker. */
export function LoadingTranscript({ afterMs = SKELETON_AFTER_MS }: { afterMs?: number }) {
  const [isShown, setShown] = useState(afterMs === 0);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), afterMs);
    return () => clearTimeout(timer);
  }, [afterMs]);
  return (
    <div role="status" aria-label={t.loading} className="min-h-0 flex-1 overflow-hidden">
      {isShown && (
        <div aria-hidden className="mx-auto max-w-(--column) space-y-6 px-4 pt-6">
          {[72, 48, 84].map((width) => (
            <div key={width} className="space-y-3">
              <div className="h-10 rounded-card bg-subtle" />
              <div className="h-4 rounded-control bg-subtle" style={{ width: `${width}%` }} />
              <div className="h-4 rounded-control bg-subtle" style={{ width: `${width - 24}%` }} />
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

export function UnavailableTranscript({ children }: { children?: ReactNode }) {
  return (
    <Centre>
      <SearchX aria-hidden className="size-6 text-faint" />
      <h2 className="text-title font-semibold">{t.unavailable}</h2>
      <p className="max-w-80 text-ui text-muted">{t.unavailableHint}</p>
      {children}
    </Centre>
  );
}

function Centre({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-0 flex-1 flex-col items-center justify-center gap-3 p-6 text-center">
      {children}
    </div>
  );
}
