/**
 * A call that waits for a decision: who asks, the exact arguments, approve or deny with a reason, and
 * until when. The buttons are gone as soon as one was pressed; what the server then says is shown.
 */

import type { ActionRequired } from "@holdfast/client";
import { useEffect, useId, useRef, useState } from "react";
import { toolStrings } from "@/i18n/en/tools";
import { useNowUntil } from "@/lib/clock";
import { deadline } from "@/lib/format";
import { Button } from "@/ui/button";
import type { CallActions } from "./actions";
import { ArgumentList } from "./arguments";
import type { Call } from "./call";
import type { ActionRequiredProps } from "./registry";

const t = toolStrings.approval;
const [ASK, ASK_END] = t.ask;

export function Approval({ call, action, actions }: ActionRequiredProps) {
  return (
    <section aria-label={t.label(call.tool)} className="space-y-3 border-l-2 border-warn px-3 py-2">
      <p className="text-ui">
        {ASK}
        <code className="font-mono text-code">{call.tool}</code>
        {ASK_END}
      </p>
      <ArgumentList given={call.arguments ?? {}} exact={call.exact} />
      {actions === null ? (
        <p className="text-meta text-muted">{t.viewOnly}</p>
      ) : (
        <Decision call={call} action={action} actions={actions} />
      )}
      {action.expires_at !== null && <Deadline until={action.expires_at} />}
    </section>
  );
}

type Stage = "asking" | "denying" | "decided";

function Decision({ call, action, actions }: ActionRequiredProps & { actions: CallActions }) {
  const [stage, setStage] = useState<Stage>("asking");
  const [reason, setReason] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const id = useId();
  const reasonField = useRef<HTMLInputElement>(null);
  const denyButton = useRef<HTMLButtonElement>(null);
  const before = useRef(stage);
  useEffect(() => {
    if (stage === "denying") reasonField.current?.focus();
    if (stage === "asking" && before.current === "denying") denyButton.current?.focus();
    before.current = stage;
  }, [stage]);
  const decide = (verdict: "approve" | "deny") => {
    setStage("decided");
    setFailure(null);
    actions
      .decide(call.id, verdict, reason.trim() === "" ? null : reason.trim(), digestOf(call, action))
      .catch((problem: unknown) => {
        setStage("asking"); // it may still be ours to decide; if not, the server's next word says so
        setFailure(problem instanceof Error ? problem.message : t.notSent);
      });
  };
  if (stage === "decided") return <p className="text-meta text-muted">{t.sent}</p>;
  return (
    <div className="space-y-2">
      {stage === "denying" && (
        <div>
          <label htmlFor={id} className="text-meta text-muted">
            {t.reason}
          </label>
          <input
            ref={reasonField}
            id={id}
            value={reason}
            maxLength={2000}
            onChange={(event) => setReason(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && !event.nativeEvent.isComposing) decide("deny");
              if (event.key === "Escape") setStage("asking");
            }}
            className="mt-1 h-8 w-full rounded-control border border-line-strong bg-bg px-2 text-ui coarse:h-11"
          />
        </div>
      )}
      {/* A key per stage: React must not make "Deny" of the button that was "Approve once". */}
      <div key={stage} className="flex flex-wrap gap-2">
        {stage === "asking" ? (
          <>
            <Button variant="accent" onClick={() => decide("approve")}>
              {t.approve}
            </Button>
            <Button ref={denyButton} onClick={() => setStage("denying")}>
              {t.denyWithReason}
            </Button>
          </>
        ) : (
          <>
            <Button variant="danger" onClick={() => decide("deny")}>
              {t.deny}
            </Button>
            <Button variant="plain" onClick={() => setStage("asking")}>
              {t.back}
            </Button>
          </>
        )}
      </div>
      {failure !== null && (
        <p role="alert" className="text-meta text-danger">
          {failure}
        </p>
      )}
    </div>
  );
}

function Deadline({ until }: { until: string }) {
  const end = Date.parse(until);
  const now = useNowUntil(end);
  const text = end <= now ? t.expired : t.expires(deadline(end, now));
  return <p className="numeric text-meta text-muted">{text}</p>;
}

/** Servers that bind a decision to what was shown say by which digest. */
function digestOf(call: Call, action: ActionRequired): string | null {
  const awaited = action.calls.find((each) => each.call_id === call.id);
  return awaited?.digest ?? null;
}
