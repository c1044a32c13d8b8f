/** Where the turn stands, in the header: a word, and for how long. */
import { useEffect, useState } from "react";
import { type ChatLog, useLog } from "@/log/store";
import { words } from "@/words";

const SHOWN_AFTER_S = 3;

export function RunState({ log }: { log: ChatLog }) {
  const status = useLog(log, (now) => now.view.status?.status ?? null);
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
      <span className={busy ? "max-sm:sr-only" : undefined}>{words.status[status]}</span>
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
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const s = Math.floor((now - Date.parse(since)) / 1000);
  if (s < SHOWN_AFTER_S) return null;
  return <span>{s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`}</span>;
}
