/** Where the turn stands, in the header: a word, and for how long. */
import { type ChatLog, useLog } from "@/engine/chat-store";
import { commonStrings } from "@/i18n/en/common";
import { useNow } from "@/lib/clock";
import { elapsed } from "@/lib/format";

const SHOWN_AFTER_MS = 3000;

export function RunState({ log }: { log: ChatLog }) {
  const status = useLog(log, (now) => now.view.state?.status ?? null);
  const startedAt = useLog(
    log,
    (now) => now.view.messages.findLast((message) => message.role === "user")?.created_at ?? null,
  );
  if (status === null || status === "idle") return null;
  const busy = status === "running" || status === "interrupting";
  return (
    <span className="numeric flex h-6 shrink-0 items-center gap-1.5 rounded-full border border-line px-2 text-meta text-muted">
      <span
        aria-hidden="true"
        className={`size-2 rounded-full ${DOT[status]} ${busy ? "animate-pulse" : ""}`}
      />
      <span className={busy ? "max-sm:sr-only" : undefined}>{commonStrings.status[status]}</span>
      {busy && startedAt !== null && <Elapsed since={startedAt} />}
    </span>
  );
}

const DOT = {
  running: "bg-accent",
  interrupting: "bg-muted",
  awaiting: "bg-warn",
  failed: "bg-danger",
} as const;

function Elapsed({ since }: { since: string }) {
  const ms = useNow() - Date.parse(since);
  return ms < SHOWN_AFTER_MS ? null : <span>{elapsed(ms)}</span>;
}
