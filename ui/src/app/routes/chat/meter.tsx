/** How full the model's context is: a ring and a number, and behind them what it is made of. */

import { errorMessage } from "@holdfast/client";
import { useMemo, useState } from "react";
import type { Models } from "@/api/queries/models";
import type { ChatActions } from "@/engine/actions";
import { type ChatLog, useBusy, useLog } from "@/engine/chat-store";
import { type Meter, meterOf } from "@/engine/meter";
import { chatStrings } from "@/i18n/en/chat";
import { cost, count } from "@/lib/format";
import { Button } from "@/ui/button";
import { Popover } from "@/ui/popover";
import { showToast } from "@/ui/toast";

const t = chatStrings.meter;
const NEARLY_FULL = 0.8;

interface ContextMeterProps {
  readonly log: ChatLog;
  readonly models: Models | undefined;
  /** Null: whoever looks may only look. */
  readonly actions: ChatActions | null;
}

export function ContextMeter({ log, models, actions }: ContextMeterProps) {
  const messages = useLog(log, (now) => now.view.messages);
  const meter = useMemo(() => {
    const windowOf = (model: string | null) => models?.windows[model ?? models.default ?? ""];
    return meterOf(messages, (model) => windowOf(model) ?? null);
  }, [messages, models]);
  if (meter === null) return null;
  const said = meter.share === null ? count(meter.used) : percent(meter.share);
  return (
    <Popover
      label={t.title}
      trigger={
        <Button variant="plain" size="small" aria-label={t.label(said)} className="numeric px-1.5">
          <Ring share={meter.share} />
          {said}
        </Button>
      }
    >
      <Breakdown meter={meter} standard={models?.default ?? null} />
      {actions !== null && <Compact log={log} actions={actions} />}
    </Popover>
  );
}

function percent(share: number): string {
  const rounded = Math.round(share * 100);
  return rounded === 0 ? "< 1 %" : `${rounded} %`;
}

const RADIUS = 6;
const ROUND = 2 * Math.PI * RADIUS;

function Ring({ share }: { share: number | null }) {
  const isFull = share !== null && share >= NEARLY_FULL;
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 16 16"
      fill="none"
      strokeWidth="2.5"
      className="-rotate-90"
    >
      <circle cx="8" cy="8" r={RADIUS} className="stroke-line-strong opacity-60" />
      <circle
        cx="8"
        cy="8"
        r={RADIUS}
        className={isFull ? "stroke-warn" : "stroke-accent"}
        strokeDasharray={`${(share ?? 0) * ROUND} ${ROUND}`}
      />
    </svg>
  );
}

function Breakdown({ meter, standard }: { meter: Meter; standard: string | null }) {
  const price = cost(meter.costMicros);
  const lines: (readonly [string, string])[] = [
    [t.model, meter.model ?? standard ?? t.defaultModel],
    [t.input, count(meter.input)],
    ...(meter.cached > 0 ? [[t.cached, count(meter.cached)] as const] : []),
    [t.output, count(meter.output)],
    ...(meter.window === null ? [] : [[t.left, left(meter)] as const]),
    ...(price === null ? [] : [[t.cost, price] as const]),
  ];
  return (
    <section aria-label={t.title}>
      <h2 className="font-semibold">{t.title}</h2>
      <p className="text-meta text-muted">
        {meter.window === null ? t.unknown : t.of(count(meter.used), count(meter.window))}
      </p>
      <dl className="numeric mt-2 grid grid-cols-[1fr_auto] gap-y-1">
        {lines.map(([name, value]) => (
          <div key={name} className="col-span-2 grid grid-cols-subgrid">
            <dt className="text-muted">{name}</dt>
            <dd className="max-w-40 truncate text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function left({ used, window }: Meter): string {
  return count(Math.max(0, (window ?? 0) - used));
}

/** A summary takes the place of what is earlier, for the model; people still read all of it. */
function Compact({ log, actions }: { log: ChatLog; actions: ChatActions }) {
  const isBusy = useBusy(log);
  const [asked, setAsked] = useState(false);
  const press = () => {
    setAsked(true);
    actions
      .compact()
      .catch((error: unknown) => showToast(errorMessage(error), "danger"))
      .finally(() => setAsked(false));
  };
  return (
    <div className="mt-3 border-line border-t pt-3">
      <Button size="small" disabled={asked || isBusy} onClick={press}>
        {t.compact}
      </Button>
      <p className="mt-1 text-faint text-meta">{isBusy ? t.compactBusy : t.compactHint}</p>
    </div>
  );
}
