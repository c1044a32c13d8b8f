/**
 * Where one writes. It shares nothing with the transcript but the status and the queue, so that a key
 * press never waits for a thousand rows, and a delta never for a key press.
 */

import { textOf } from "@holdfast/client";
import { ArrowUp, Square } from "lucide-react";
import { type ClipboardEvent, type KeyboardEvent, useEffect, useState } from "react";
import type { WhenBusy } from "@/engine/actions";
import { useLog } from "@/engine/chat-store";
import { isBusy } from "@/engine/rows";
import type { ComposerProps } from "@/features/chat/contract";
import { useComposerRef } from "@/features/chat/panes";
import { composerStrings as t } from "@/i18n/en/composer";
import { cn } from "@/lib/classes";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/textarea";
import { Attachments } from "./attachments";
import { isEmpty, joined, NO_DRAFT } from "./drafts";
import { EffortPicker, useEffort } from "./effort-picker";
import { meaning, pressOf } from "./keys";
import { ModelPicker, useModel } from "./model-picker";
import { attach, compose, isLarge } from "./paste";
import { PlanToggle, usePlanMode } from "./plan-toggle";
import { Queue, type QueueProps } from "./queue-list";
import { useDraft } from "./use-draft";
import { type Stop, useStop } from "./use-stop";
import { useWeb, WebToggle } from "./web-toggle";
import { WhenBusyMenu } from "./when-busy";

const NO_CARDS = {};

type ComposerMode = "idle" | "busy" | "stopping";

export function Composer(props: ComposerProps) {
  const { log, actions } = props;
  if (log === null || actions === null) return <Writing {...props} mode="idle" />;
  return <InChat {...props} log={log} actions={actions} />;
}

type InChatProps = ComposerProps & {
  log: NonNullable<ComposerProps["log"]>;
  actions: NonNullable<ComposerProps["actions"]>;
};

function InChat(props: InChatProps) {
  const status = useLog(props.log, (now) => now.view.state?.status);
  const queue = useLog(props.log, (now) => now.view.queue);
  const sending = useLog(props.log, (now) => now.sending);
  // The transcript shows what is sent to a chat at rest, and what failed.
  const pending = isBusy(status) ? sending.filter((each) => each.state !== "failed") : [];
  const isPaused = useLog(props.log, (now) => now.view.queuePaused);
  const webOfChat = useLog(props.log, (now) => now.view.state?.web ?? null);
  const planOfChat = useLog(props.log, (now) => now.view.state?.plan_mode ?? false);
  const mode =
    status === "interrupting"
      ? "stopping"
      : status === "running" || status === "awaiting"
        ? "busy"
        : "idle";
  const more = { mode, queue, pending, isPaused, webOfChat, planOfChat } as const;
  return <Writing {...props} {...more} />;
}

type WritingProps = ComposerProps & {
  mode: ComposerMode;
  queue?: QueueProps["queue"];
  pending?: QueueProps["pending"];
  isPaused?: boolean;
  webOfChat?: boolean | null;
  planOfChat?: boolean;
};

export function Writing({
  chatId,
  actions,
  models,
  defaultModel,
  cards = NO_CARDS,
  efforts = {},
  searches = {},
  onSend,
  refused,
  sendKey = "enter",
  mode,
  queue = [],
  pending = [],
  isPaused = false,
  webOfChat = null,
  planOfChat = false,
}: WritingProps) {
  const area = useComposerRef();
  const [draft, change] = useDraft(chatId);
  const [model, setModel] = useModel(chatId);
  const allowed = efforts[model ?? defaultModel ?? ""] ?? [];
  const [effort, setEffort] = useEffort(chatId, allowed);
  const canSearch = searches[model ?? defaultModel ?? ""];
  const searching = canSearch === undefined ? undefined : (webOfChat ?? canSearch);
  const [web, setWeb] = useWeb(chatId, searching);
  const [planMode, setPlanMode] = usePlanMode(chatId, planOfChat);
  const [failure, setFailure] = useState<string | null>(null);
  const isTouch = useTouch();
  const stop = useStop(actions, mode, setFailure);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with every chat that is opened
  useEffect(() => {
    if (!isTouch) area.current?.focus({ preventScroll: true });
  }, [chatId, isTouch]);
  const reason = refused ?? (isEmpty(draft) ? t.empty : null);
  const send = (whenBusy: WhenBusy) => {
    if (reason !== null) return area.current?.focus();
    const said = { text: compose(draft.text, draft.attachments), model, effort };
    const ofWeb = web === null ? {} : { web };
    const ofPlan = planMode === null ? {} : { planMode };
    onSend({ ...said, ...ofWeb, ...ofPlan }, whenBusy);
    change(NO_DRAFT);
    setFailure(null);
    area.current?.focus({ preventScroll: true });
  };
  const take = (queuedId: number) =>
    actions
      ?.take(queuedId)
      .then(({ parts }) => {
        change((was) => ({ ...was, text: joined(was.text, textOf(parts)) }));
        area.current?.focus({ preventScroll: true });
      })
      .catch(() => setFailure(t.notInQueue));
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const now = { sendKey, isTouch, isEmpty: isEmpty(draft), isBusy: mode !== "idle" };
    const meant = meaning(pressOf(event), now);
    const last = queue.at(-1);
    if (meant === "send") send("queue");
    else if (meant === "send now") send("interrupt");
    else if (meant === "stop") stop.byKey();
    else if (meant === "last queued" && last !== undefined) void take(last.queued_id);
    else return;
    event.preventDefault();
  };
  const paste = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData("text/plain");
    if (!isLarge(text)) return;
    event.preventDefault();
    change((was) => ({ ...was, attachments: [...was.attachments, attach(text, was.attachments)] }));
  };
  const label = mode === "idle" ? t.label : t.labelBusy;
  return (
    <form
      aria-label={t.label}
      className="composer mx-auto w-full max-w-(--column) px-4 pb-[max(0.75rem,env(safe-area-inset-bottom))]"
      onSubmit={(event) => {
        event.preventDefault();
        send("queue");
      }}
    >
      {actions !== null && (
        <Queue
          queue={queue}
          pending={pending}
          isPaused={isPaused}
          actions={actions}
          onTake={(id) => void take(id)}
        />
      )}
      <div className="rounded-panel border border-line-strong bg-raised focus-within:border-accent focus-within:ring-1 focus-within:ring-accent">
        <Attachments
          attachments={draft.attachments}
          onRemove={(id) =>
            change((was) => ({
              ...was,
              attachments: was.attachments.filter((one) => one.id !== id),
            }))
          }
          onInline={(one) =>
            change((was) => ({
              text: joined(was.text, one.text),
              attachments: was.attachments.filter((other) => other.id !== one.id),
            }))
          }
        />
        <Textarea
          ref={area}
          data-composer
          aria-label={label}
          aria-describedby={refused === null ? undefined : "composer-refused"}
          placeholder={mode === "idle" ? t.placeholder : t.placeholderBusy}
          rows={1}
          value={draft.text}
          onChange={(event) => change((was) => ({ ...was, text: event.target.value }))}
          onKeyDown={press}
          onPaste={paste}
          className="block max-h-[40dvh] min-h-11 w-full bg-transparent px-3 pt-3 pb-1 text-body outline-none placeholder:text-faint"
        />
        <div className="flex items-center gap-1 p-1.5">
          <ModelPicker
            models={models}
            cards={cards}
            chosen={model}
            standard={defaultModel}
            onChoose={setModel}
          />
          <EffortPicker efforts={allowed} chosen={effort} onChoose={setEffort} />
          <WebToggle standard={searching} chosen={web} onChoose={setWeb} />
          <PlanToggle isOn={planMode ?? planOfChat} onChoose={setPlanMode} />
          <Buttons mode={mode} reason={reason} stop={stop} onSend={send} />
        </div>
      </div>
      {refused !== null && (
        <p id="composer-refused" className="mt-1 text-meta text-muted">
          {refused}
        </p>
      )}
      {failure !== null && (
        <p role="alert" className="mt-1 text-meta text-danger">
          {failure}
        </p>
      )}
    </form>
  );
}

interface ButtonsProps {
  mode: ComposerMode;
  /** Not null: nothing can be sent, and why. */
  reason: string | null;
  stop: Stop;
  onSend: (whenBusy: WhenBusy) => void;
}

/** Send is always there, and Stop beside it while there is something to stop. */
function Buttons({ mode, reason, stop, onSend }: ButtonsProps) {
  return (
    <>
      <span className="min-w-0 flex-1 truncate px-1 text-right text-meta text-muted">
        {stop.hint}
      </span>
      {mode !== "idle" && (
        <Button aria-disabled={mode === "stopping"} onClick={stop.now}>
          <Square aria-hidden className="fill-current" />
          {mode === "stopping" ? t.stopping : t.stop}
        </Button>
      )}
      {/* As wide in both states: what is pressed does not move when a turn begins or ends. */}
      <div className="flex sm:min-w-29">
        <Button
          type="submit"
          variant="accent"
          aria-disabled={reason !== null}
          tooltip={reason ?? (mode === "idle" ? t.send : t.sendBusy)}
          className={cn("flex-1", mode !== "idle" && "rounded-r-none")}
        >
          <ArrowUp aria-hidden />
          <span className="max-sm:sr-only">{mode === "idle" ? t.send : t.queueIt}</span>
        </Button>
        {mode !== "idle" && <WhenBusyMenu reason={reason} onSend={onSend} />}
      </div>
    </>
  );
}

/** A finger: no focus that nobody asked for (it opens the keyboard), and Enter is a new line. */
function useTouch(): boolean {
  const [query] = useState(() => globalThis.matchMedia?.("(pointer: coarse)") ?? null);
  const [isTouch, setTouch] = useState(query?.matches ?? false);
  useEffect(() => {
    const changed = () => setTouch(query?.matches ?? false);
    query?.addEventListener("change", changed);
    return () => query?.removeEventListener("change", changed);
  }, [query]);
  return isTouch;
}
