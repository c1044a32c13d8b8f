/** The footer of a turn: its phase while it runs, why it waits or failed, and its cost at the end. */

import type { ChatError, Retry } from "@holdfast/client";
import {
  AlertTriangle,
  ChevronDown,
  CircleDashed,
  CirclePause,
  Clock3,
  Hourglass,
  RotateCw,
  Square,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import type { TurnEnd } from "@/engine/rows";
import { useChatActions, useChatMeta } from "@/features/chat/context";
import { useSilence } from "@/features/chat/live";
import { commonStrings } from "@/i18n/en/common";
import { composerStrings } from "@/i18n/en/composer";
import { transcriptStrings } from "@/i18n/en/transcript";
import { cn } from "@/lib/classes";
import { useClock, useNow, useNowUntil } from "@/lib/clock";
import { cost, count, elapsed, moment, remaining } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { Menu, MenuItem } from "@/ui/menu";
import { ErrorDetails } from "./error-details";
import { type Foot, isPause, type Regenerable } from "./items";
import { RowActions } from "./row-actions";

const t = transcriptStrings.turn;

export function TurnFooter({ foot }: { foot: Foot }) {
  switch (foot.is) {
    case "over":
      return (
        <FinishedFooter ends={foot.ends} answer={foot.answer} regenerable={foot.regenerable} />
      );
    case "going":
      return <RunningFooter foot={foot} />;
    case "retrying":
      return <RetryingFooter retry={foot.retry} />;
    case "failed":
      if (isPause(foot.error)) return <PausedFooter />;
      return <FailedFooter error={foot.error} />;
  }
}

const LINE = "flex min-h-7 items-center gap-x-2 text-meta text-muted coarse:min-h-11";

interface FinishedFooterProps {
  ends: TurnEnd;
  answer: string;
  regenerable: Regenerable | null;
}

function FinishedFooter({ ends, answer, regenerable }: FinishedFooterProps) {
  const clock = useClock();
  const { actions } = useChatActions();
  const facts = factsOf(ends);
  return (
    <div className={LINE}>
      <span className="numeric flex min-w-0 flex-wrap gap-x-2">
        {facts.map(({ is, said, atLength }, at) => (
          <span key={is} className={cn("flex gap-2", is === "model" && "max-sm:hidden")}>
            {at > 0 && (
              <span aria-hidden className={cn(facts[at - 1]?.is === "model" && "max-sm:hidden")}>
                ·
              </span>
            )}
            {atLength !== undefined && <span className="max-sm:hidden">{atLength}</span>}
            <span className={cn(atLength !== undefined && "sm:hidden")}>{said}</span>
          </span>
        ))}
      </span>
      <RowActions className="ml-auto">
        <time dateTime={ends.endedAt} className="numeric mr-1 whitespace-nowrap">
          {moment(ends.endedAt, clock.now())}
        </time>
        {answer !== "" && <CopyButton label={t.copy} data-row-action="copy" text={() => answer} />}
        {regenerable !== null && actions !== null && (
          <RegenerateButton
            ask={() =>
              actions.edit(regenerable.seq, { text: regenerable.text, model: regenerable.model })
            }
          />
        )}
      </RowActions>
    </div>
  );
}

/** Asks the same again; the present answer stays as an older version. */
function RegenerateButton({ ask }: { ask: () => Promise<void> }) {
  const { isBusy, failure, attempt } = useAttempt();
  return (
    <>
      <Failure why={failure} />
      <Button
        variant="plain"
        size="iconSmall"
        aria-label={t.regenerate}
        tooltip={t.regenerateHint}
        aria-disabled={isBusy}
        onClick={() => attempt(ask)}
      >
        <RotateCw aria-hidden />
      </Button>
    </>
  );
}

interface Fact {
  is: "model" | "tokens" | "price" | "time";
  said: string;
  /** The same where there is more room. */
  atLength?: string;
}

/** What a turn took. Answers from before models were always named may have none. */
function factsOf(ends: TurnEnd): Fact[] {
  const { usage } = ends;
  const facts: Fact[] = ends.model === null ? [] : [{ is: "model", said: ends.model }];
  const tokens = tokensOf(usage, undefined);
  if (tokens !== "") {
    facts.push({ is: "tokens", said: tokens, atLength: tokensOf(usage, usage.cache_read_tokens) });
  }
  const price = cost(ends.costMicros);
  if (price !== null) facts.push({ is: "price", said: price });
  if (ends.startedAt !== null) {
    const ms = Date.parse(ends.endedAt) - Date.parse(ends.startedAt);
    facts.push({ is: "time", said: elapsed(ms) });
  }
  return facts;
}

function tokensOf(usage: TurnEnd["usage"], cached: number | undefined): string {
  const said = (tokens: number | undefined) => (tokens === undefined ? null : count(tokens));
  return t.tokens(said(usage.input_tokens), said(cached), said(usage.output_tokens));
}

const SHOWN_FROM_MS = 3000;
const SILENT_FROM_MS = 30_000;

function RunningFooter({ foot }: { foot: Extract<Foot, { is: "going" }> }) {
  const now = useNow();
  const silence = useSilence(SILENT_FROM_MS);
  const { phase, since } = foot;
  const ms = since === null ? 0 : now - Date.parse(since);
  const Glyph = phase === "awaiting" ? Hourglass : phase === "stopping" ? Square : CircleDashed;
  return (
    <div className={LINE}>
      <Glyph
        aria-hidden
        className={
          phase === "awaiting" || phase === "stopping"
            ? "size-4 shrink-0 text-warn"
            : "size-4 shrink-0 animate-spin text-accent [animation-duration:2.4s]"
        }
      />
      <span className="min-w-0 truncate">{t.phases[phase]}</span>
      {ms >= SHOWN_FROM_MS && <span className="numeric shrink-0">{elapsed(ms)}</span>}
      {silence > 0 && phase !== "awaiting" && (
        <span className="numeric shrink-0">{t.silent(elapsed(silence))}</span>
      )}
    </div>
  );
}

function RetryingFooter({ retry }: { retry: Retry }) {
  const { actions } = useChatActions();
  const until = Date.parse(retry.next_attempt_at);
  const now = useNowUntil(until);
  return (
    <Notice
      Glyph={Clock3}
      variant="warn"
      title={retry.error.message}
      details={detailsOf(retry.error)}
    >
      <p className="numeric text-ui text-muted">
        {until <= now
          ? t.retryingNow(retry.attempt + 1, retry.model)
          : t.retryingIn(remaining(until, now), retry.attempt + 1, retry.model)}
      </p>
      {actions !== null && (
        <div className="flex flex-wrap gap-2">
          <AsyncButton label={t.tryNow} busy={t.trying} act={() => actions.retry(null)} />
          <AsyncButton label={t.stop} busy={t.stopping} act={() => actions.interrupt()} />
        </div>
      )}
    </Notice>
  );
}

/** After many replies in a row the turn waits for a word of the user: a pause, no failure. */
function PausedFooter() {
  const { actions } = useChatActions();
  return (
    <Notice Glyph={CirclePause} variant="warn" title={t.paused.title} details={t.paused.details}>
      <p className="text-ui text-muted">{t.paused.next}</p>
      {actions !== null && (
        <div className="flex flex-wrap gap-2">
          <AsyncButton
            label={t.paused.goOn}
            busy={t.paused.goingOn}
            act={() => actions.retry(null)}
          />
        </div>
      )}
    </Notice>
  );
}

function FailedFooter({ error }: { error: ChatError }) {
  const { actions } = useChatActions();
  const { models } = useChatMeta();
  return (
    <Notice Glyph={AlertTriangle} variant="danger" title={error.message} details={detailsOf(error)}>
      <p className="text-ui text-muted">{t.next[error.type] ?? t.ended}</p>
      <ErrorDetails error={error} />
      <div className="flex flex-wrap gap-2">
        {actions !== null && (
          <AsyncButton
            label={commonStrings.retry}
            busy={t.retrying}
            glyph
            act={() => actions.retry(null)}
          />
        )}
        {actions !== null && models.length > 1 && (
          <RetryWith models={models} retry={(model) => actions.retry(model)} />
        )}
        <CopyButton label={t.copyDetails} size="icon" text={() => JSON.stringify(error, null, 2)} />
      </div>
    </Notice>
  );
}

function detailsOf(error: ChatError): string {
  const pieces = [
    error.type.replaceAll("_", " "),
    error.provider,
    error.status_code === null ? null : `HTTP ${error.status_code}`,
  ];
  return pieces.filter((piece) => piece !== null).join(" · ");
}

interface NoticeProps {
  Glyph: typeof Clock3;
  variant: "warn" | "danger";
  title: string;
  details: string;
  children: ReactNode;
}

function Notice({ Glyph, variant, title, details, children }: NoticeProps) {
  const tint = variant === "warn" ? "text-warn" : "text-danger";
  const edge = variant === "warn" ? "border-l-warn" : "border-l-danger";
  return (
    <section
      aria-label={title}
      className={`flex gap-3 rounded-card border border-l-2 border-line ${edge} bg-raised px-3 py-2`}
    >
      <Glyph aria-hidden className={`mt-0.5 size-4 shrink-0 ${tint}`} />
      <div className="min-w-0 flex-1 space-y-2">
        <div>
          <p className="text-ui font-medium text-fg">{title}</p>
          <p className="text-meta text-muted">{details}</p>
        </div>
        {children}
      </div>
    </section>
  );
}

interface AsyncButtonProps {
  label: string;
  busy: string;
  act: () => Promise<void>;
  glyph?: boolean;
}

/** A button of a request: shows that it is under way, and why it failed. */
function AsyncButton({ label, busy, act, glyph = false }: AsyncButtonProps) {
  const { isBusy, failure, attempt } = useAttempt();
  return (
    <>
      <Button aria-disabled={isBusy} onClick={() => attempt(act)}>
        {glyph && <RotateCw aria-hidden />}
        {isBusy ? busy : label}
      </Button>
      <Failure why={failure} />
    </>
  );
}

function RetryWith({
  models,
  retry,
}: {
  models: readonly string[];
  retry: (model: string) => Promise<void>;
}) {
  const { isBusy, failure, attempt } = useAttempt();
  return (
    <>
      <Menu
        trigger={
          <Button aria-disabled={isBusy}>
            {t.retryWith} <ChevronDown aria-hidden />
          </Button>
        }
      >
        {models.map((model) => (
          <MenuItem key={model} onSelect={() => attempt(() => retry(model))}>
            {model}
          </MenuItem>
        ))}
      </Menu>
      <Failure why={failure} />
    </>
  );
}

/** One request at a time, and why the last one failed. */
function useAttempt() {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const attempt = (act: () => Promise<void>) => {
    if (isBusy) return;
    setBusy(true);
    setFailure(null);
    act()
      .catch((problem: unknown) =>
        setFailure(problem instanceof Error ? problem.message : composerStrings.notReceived),
      )
      .finally(() => setBusy(false));
  };
  return { isBusy, failure, attempt };
}

function Failure({ why }: { why: string | null }) {
  if (why === null) return null;
  return (
    <span role="alert" className="self-center text-meta text-danger">
      {why}
    </span>
  );
}
