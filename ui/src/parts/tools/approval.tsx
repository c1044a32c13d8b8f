/**
 * A call that waits for a decision: who asks, the exact arguments, approve or deny with a reason, and
 * until when. The buttons are gone as soon as one was pressed; what the server then says is shown.
 */
import { useId, useState } from "react";
import { Button } from "@/kit/button";
import { useNowUntil } from "@/kit/clock";
import type { ActionRequired } from "@/log/types";
import { deadline } from "../format";
import type { CallActions } from "./actions";
import { ArgumentList } from "./arguments";
import type { Call } from "./call";

interface ApprovalProps {
  call: Call;
  action: ActionRequired;
  actions: CallActions | null;
}

export function Approval({ call, action, actions }: ApprovalProps) {
  return (
    <section
      aria-label={`Approval of ${call.tool}`}
      className="space-y-3 border-l-2 border-warn px-3 py-2"
    >
      <p className="text-ui">
        The agent asks to use <code className="font-mono text-code">{call.tool}</code>. Nothing runs
        before you decide.
      </p>
      <ArgumentList given={call.arguments ?? {}} exact={call.exact} />
      {actions === null ? (
        <p className="text-meta text-muted">Only people who may write in this chat can decide.</p>
      ) : (
        <Decision call={call} action={action} actions={actions} />
      )}
      {action.deadline !== null && <Deadline until={action.deadline} />}
    </section>
  );
}

type Stage = "asking" | "denying" | "decided";

function Decision({ call, action, actions }: ApprovalProps & { actions: CallActions }) {
  const [stage, setStage] = useState<Stage>("asking");
  const [reason, setReason] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const id = useId();
  const decide = (verdict: "approve" | "deny") => {
    setStage("decided");
    setFailure(null);
    actions
      .decide(call.id, verdict, reason.trim() === "" ? null : reason.trim(), digestOf(call, action))
      .catch((problem: unknown) => {
        setStage("asking"); // it may still be ours to decide; if not, the server's next word says so
        setFailure(
          problem instanceof Error ? problem.message : "The decision did not reach the server.",
        );
      });
  };
  if (stage === "decided") return <p className="text-meta text-muted">Decision sent…</p>;
  return (
    <div className="space-y-2">
      {stage === "denying" && (
        <div>
          <label htmlFor={id} className="text-meta text-muted">
            Reason (optional, shown to the agent)
          </label>
          <input
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
      <div className="flex flex-wrap gap-2">
        {stage === "asking" ? (
          <>
            <Button look="accent" onClick={() => decide("approve")}>
              Approve once
            </Button>
            <Button onClick={() => setStage("denying")}>Deny…</Button>
          </>
        ) : (
          <>
            <Button look="danger" onClick={() => decide("deny")}>
              Deny
            </Button>
            <Button look="plain" onClick={() => setStage("asking")}>
              Back
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
  const said = end <= now ? "Expired" : `Expires ${deadline(end, now)}`;
  return <p className="numeric text-meta text-muted">{said}</p>;
}

/** Servers that bind a decision to what was shown say by which digest. */
function digestOf(call: Call, action: ActionRequired): string | null {
  const awaited = action.calls.find((each) => each.call_id === call.id);
  return awaited !== undefined && "digest" in awaited ? (awaited.digest as string | null) : null;
}
