/** A call that somebody other than us answers: a person, or the program that offered the tool. */
import { useId, useState } from "react";
import { Button } from "@/kit/button";
import type { ActionRequired } from "@/log/types";
import type { CallActions } from "./actions";
import { ArgumentList } from "./arguments";
import { argument, type Call } from "./call";

interface WaitingProps {
  call: Call;
  action: ActionRequired;
  actions: CallActions | null;
}

export function Waiting({ call, action, actions }: WaitingProps) {
  if (action.kind === "answer") return <Question call={call} actions={actions} />;
  return (
    <section
      aria-label={`Waiting for ${call.tool}`}
      className="space-y-2 border-l-2 border-line-strong px-3 py-2"
    >
      <p className="text-ui">
        {action.kind === "login"
          ? "Sign in to this tool first."
          : "Waiting for the program that provides this tool."}
      </p>
      <ArgumentList given={call.arguments ?? {}} exact={call.exact} />
    </section>
  );
}

function Question({ call, actions }: { call: Call; actions: CallActions | null }) {
  const [text, setText] = useState("");
  const [stage, setStage] = useState<"asking" | "sent">("asking");
  const [failure, setFailure] = useState<string | null>(null);
  const id = useId();
  const question = argument(call, "question") || argument(call, "prompt");
  const send = () => {
    if (text.trim() === "" || actions === null) return;
    setStage("sent");
    setFailure(null);
    actions.answer(call.id, text.trim(), false).catch((problem: unknown) => {
      setStage("asking");
      setFailure(
        problem instanceof Error ? problem.message : "The answer did not reach the server.",
      );
    });
  };
  return (
    <section aria-label="A question for you" className="space-y-2 border-l-2 border-warn px-3 py-2">
      {question === "" ? (
        <ArgumentList given={call.arguments ?? {}} exact={call.exact} />
      ) : (
        <label htmlFor={id} className="block text-ui whitespace-pre-wrap" dir="auto">
          {question}
        </label>
      )}
      {actions !== null && stage === "asking" && (
        <div className="flex flex-col items-start gap-2">
          <textarea
            id={id}
            rows={2}
            value={text}
            aria-label={question === "" ? "Your answer" : undefined}
            onChange={(event) => setText(event.target.value)}
            className="w-full resize-y rounded-control border border-line-strong bg-bg p-2 text-ui"
          />
          <Button look="accent" aria-disabled={text.trim() === ""} onClick={send}>
            Answer
          </Button>
        </div>
      )}
      {stage === "sent" && <p className="text-meta text-muted">Answer sent…</p>}
      {failure !== null && (
        <p role="alert" className="text-meta text-danger">
          {failure}
        </p>
      )}
    </section>
  );
}
