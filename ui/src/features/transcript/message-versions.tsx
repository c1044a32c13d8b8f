/**
 * The versions of a message and of what followed: `‹ 3 / 3 ›` beside it. To look at one changes
 * nothing on the server; only "Continue from this version" does.
 */

import { type Branch, type Message, textOf } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";
import { versionQuery } from "@/api/queries/chats";
import { useChatActions, useChatMeta } from "@/features/chat/context";
import { composerStrings } from "@/i18n/en/composer";
import { transcriptStrings } from "@/i18n/en/transcript";
import { useClock } from "@/lib/clock";
import { moment } from "@/lib/format";
import { Markdown } from "@/markdown/markdown";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { showToast } from "@/ui/toast";

const t = transcriptStrings.versions;

export function MessageVersions({ message }: { message: Message }) {
  const { versions } = useChatMeta();
  const older = versions.get(message.seq);
  const [at, setAt] = useState<number | null>(null);
  if (older === undefined) return null;
  const count = older.length + 1; // the newest is the one that the transcript shows
  return (
    <div className="flex items-center">
      <Step label={t.previous} onClick={() => setAt(count - 1)} isBack />
      <span role="img" aria-label={t.shown(count, count)} className="numeric">
        {t.place(count, count)}
      </span>
      <Step label={t.next} isBack={false} />
      {at !== null && (
        <VersionDialog
          older={older}
          at={Math.min(at, count)}
          onGo={setAt}
          onClose={() => setAt(null)}
        />
      )}
    </div>
  );
}

interface VersionDialogProps {
  /** Newest first. */
  older: readonly Branch[];
  /** From 1, the oldest, to the version that the transcript shows. */
  at: number;
  onGo: (at: number) => void;
  onClose: () => void;
}

function VersionDialog({ older, at, onGo, onClose }: VersionDialogProps) {
  const { actions } = useChatActions();
  const count = older.length + 1;
  const branch = older[count - 1 - at];
  const restore = (version: number) => {
    onClose();
    void actions?.restore(version).catch(sayWhy);
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t.shown(at, count)}
      className="w-[44rem]"
    >
      <div className="mb-2 flex items-center gap-1">
        <Step label={t.previous} isBack onClick={at > 1 ? () => onGo(at - 1) : undefined} />
        <span className="numeric text-meta">{t.place(at, count)}</span>
        <Step label={t.next} isBack={false} onClick={at < count ? () => onGo(at + 1) : undefined} />
      </div>
      {branch === undefined ? <p>{t.present}</p> : <Preview branch={branch} />}
      {branch !== undefined && actions !== null && (
        <div className="mt-3 flex items-center justify-between gap-2">
          <p className="text-meta text-muted">{t.kept}</p>
          <Button onClick={() => restore(branch.version)}>{t.continueFrom}</Button>
        </div>
      )}
    </Dialog>
  );
}

function Preview({ branch }: { branch: Branch }) {
  const { chatId } = useChatActions();
  const found = useQuery(versionQuery(chatId, branch.version));
  if (found.isError) return <p role="alert">{found.error.message}</p>;
  if (found.data === undefined) return <p>{t.loading}</p>;
  const shown = found.data.data.filter((each) => each.seq >= branch.first_seq);
  const missing = branch.messages - shown.length;
  return (
    <div className="max-h-[44dvh] overflow-y-auto rounded-card border border-line p-3">
      {missing > 0 && <p className="text-meta text-muted">{t.earlier(missing)}</p>}
      {shown.map((message) => (
        <Said key={message.seq} message={message} />
      ))}
    </div>
  );
}

function Said({ message }: { message: Message }) {
  const clock = useClock();
  const text = textOf(message.parts);
  const calls = message.parts.filter((part) => part.type === "tool_call").length;
  if (text === "" && calls === 0) return null;
  const who = message.role === "user" ? t.user : (message.model ?? t.assistant);
  return (
    <section className="mb-3">
      <h3 className="text-meta text-muted">
        {who} · <time dateTime={message.created_at}>{moment(message.created_at, clock.now())}</time>
      </h3>
      <Markdown text={text} />
      {calls > 0 && <p className="text-meta text-muted">{t.calls(calls)}</p>}
    </section>
  );
}

interface StepProps {
  label: string;
  isBack: boolean;
  onClick?: (() => void) | undefined;
}

function Step({ label, isBack, onClick }: StepProps) {
  const Glyph = isBack ? ChevronLeft : ChevronRight;
  return (
    <Button
      variant="plain"
      size="iconSmall"
      aria-label={label}
      tooltip={label}
      disabled={onClick === undefined}
      onClick={onClick}
    >
      <Glyph aria-hidden />
    </Button>
  );
}

function sayWhy(problem: unknown): void {
  showToast(problem instanceof Error ? problem.message : composerStrings.notReceived, "danger");
}
