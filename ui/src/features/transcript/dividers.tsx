/** Lines across the transcript: a stop, a summary, what is earlier; and what is still on its way. */

import { type Message, type Takeover, textOf } from "@holdfast/client";
import { ChevronRight, ChevronUp, ListChecks, Unplug } from "lucide-react";
import type { ReactNode } from "react";
import type { ChatActions } from "@/engine/actions";
import type { Sending } from "@/engine/rows";
import { useChatActions } from "@/features/chat/context";
import { useFold } from "@/features/chat/folds";
import { offerDraft } from "@/features/composer/drafts";
import { tally } from "@/features/tools/words";
import { transcriptStrings } from "@/i18n/en/transcript";
import { cn } from "@/lib/classes";
import { Markdown } from "@/markdown/markdown";
import { Button } from "@/ui/button";
import type { BreakItem, RunItem } from "./items";
import { lostDetails, lostLine } from "./takeover";

const t = transcriptStrings;

function Divider({ children }: { children: ReactNode }) {
  return (
    <div className="flex min-h-8 items-center gap-3 text-meta text-muted">
      <span aria-hidden className="h-px min-w-4 flex-1 bg-line" />
      <span className="flex flex-wrap items-center justify-center gap-2">{children}</span>
      <span aria-hidden className="h-px min-w-4 flex-1 bg-line" />
    </div>
  );
}

/** Neutral on purpose: a person wanted this. */
export function Break({ why, isLast }: Pick<BreakItem, "why" | "isLast">) {
  const { actions } = useChatActions();
  return (
    <Divider>
      {t.break[why]}
      {isLast && actions !== null && (
        <Button
          size="small"
          onClick={() => actions.send({ text: t.break.continueMessage, model: null }, "queue")}
        >
          {t.break.continue}
        </Button>
      )}
    </Divider>
  );
}

export function Boundary({ message, itemKey }: { message: Message; itemKey: string }) {
  const { isOpen: isShown, toggle } = useFold(itemKey);
  return (
    <div>
      <Divider>
        {t.summary.title}
        <Button variant="plain" size="small" aria-expanded={isShown} onClick={toggle}>
          {isShown ? t.summary.hide : t.summary.show}
        </Button>
      </Divider>
      {isShown && (
        <div className="rounded-card border border-line bg-raised px-3 py-2">
          <Markdown text={textOf(message.parts)} />
        </div>
      )}
    </div>
  );
}

interface LostWorkerProps {
  takeover: Takeover;
  isOpen: boolean;
  onToggle: () => void;
}

/** Quiet on purpose: the server has dealt with it. */
export function LostWorker({ takeover, isOpen, onToggle }: LostWorkerProps) {
  return (
    <div>
      <button
        type="button"
        data-row-action="toggle"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex min-h-7 w-full items-center gap-2 rounded-control text-left text-meta text-muted hover:bg-hover coarse:min-h-11"
      >
        <Unplug aria-hidden className="size-4 shrink-0 text-faint" />
        <span className="numeric min-w-0 flex-1 break-words">{lostLine(takeover)}</span>
        <ChevronRight
          aria-hidden
          className={cn("size-4 shrink-0 text-faint", isOpen && "rotate-90")}
        />
      </button>
      {isOpen && (
        <ul className="mt-1 ml-2 border-l-2 border-line pl-4 text-meta text-muted">
          {lostDetails(takeover).map(({ key, text }) => (
            <li key={key} className="break-words">
              {text}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Older({ isLoading, onLoad }: { isLoading: boolean; onLoad: () => void }) {
  return (
    <Divider>
      <Button variant="plain" size="small" aria-disabled={isLoading} onClick={onLoad}>
        <ChevronUp aria-hidden />
        {isLoading ? t.loadingEarlier : t.loadEarlier}
      </Button>
    </Divider>
  );
}

/** The head of a run of steps that is folded. */
export function Run({ item }: { item: RunItem }) {
  const { toggle } = useFold(item.key);
  const isPart = item.hidden < item.calls.length;
  const [steps = "", ...rest] = tally(item.calls, 0).filter((piece) => piece !== "");
  const first = isPart && !item.isOpen ? t.soFar(steps) : steps;
  return (
    <button
      type="button"
      data-row-action="toggle"
      aria-expanded={item.isOpen}
      onClick={toggle}
      className="flex min-h-7 w-full items-center gap-2 rounded-control text-left text-ui text-muted hover:bg-hover coarse:min-h-11"
    >
      <ListChecks aria-hidden className="size-4 shrink-0 text-faint" />
      <span className="numeric min-w-0 flex-1">{[first, ...rest].join(" · ")}</span>
      <ChevronRight
        aria-hidden
        className={cn("size-4 shrink-0 text-faint", item.isOpen && "rotate-90")}
      />
    </button>
  );
}

/** Said here, not yet known to have arrived. */
export function PendingMessage({ sending }: { sending: Sending }) {
  const { actions, chatId } = useChatActions();
  return <Pending sending={sending} actions={actions} chatId={chatId} />;
}

interface PendingProps {
  sending: Sending;
  actions: Pick<ChatActions, "resend" | "discard"> | null;
  /** Whose draft takes the words back. */
  chatId: string;
}

export function Pending({ sending, actions, chatId }: PendingProps) {
  const takeBack = () => {
    const draft = actions?.discard(sending.clientKey);
    if (draft != null) offerDraft(chatId, draft.text);
  };
  return (
    <div className="user-message">
      <h2 className="sr-only">{t.pending.title}</h2>
      <div
        className={cn(
          "rounded-card border border-line bg-subtle px-3 py-2",
          sending.state !== "failed" && "opacity-70",
        )}
      >
        <Markdown text={sending.text} />
      </div>
      <div className="flex min-h-7 flex-wrap items-center justify-end gap-2 text-meta text-muted coarse:min-h-11">
        {sending.state === "sending" ? (
          t.pending.sending
        ) : (
          <>
            {sending.state === "waiting" ? (
              <span role="status">{t.pending.waiting}</span>
            ) : (
              <span role="alert" className="text-danger">
                {t.pending.failed(sending.why)}
              </span>
            )}
            <Button size="small" onClick={() => actions?.resend(sending.clientKey)}>
              {sending.state === "waiting" ? t.pending.now : t.pending.resend}
            </Button>
            <Button variant="plain" size="small" onClick={takeBack}>
              {t.pending.edit}
            </Button>
          </>
        )}
      </div>
    </div>
  );
}
