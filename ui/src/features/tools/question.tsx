/** A call that asks the user a question. */
import { useId, useState } from "react";
import { toolStrings } from "@/i18n/en/tools";
import { Button } from "@/ui/button";
import { ArgumentList } from "./arguments";
import { argument } from "./call";
import type { ActionRequiredProps } from "./registry";

const t = toolStrings.question;

export function Question({ call, actions }: ActionRequiredProps) {
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
      setFailure(problem instanceof Error ? problem.message : t.notSent);
    });
  };
  return (
    <section aria-label={t.label} className="space-y-2 border-l-2 border-warn px-3 py-2">
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
            aria-label={question === "" ? t.answerField : undefined}
            onChange={(event) => setText(event.target.value)}
            className="w-full resize-y rounded-control border border-line-strong bg-bg p-2 text-ui"
          />
          <Button variant="accent" aria-disabled={text.trim() === ""} onClick={send}>
            {t.answer}
          </Button>
        </div>
      )}
      {stage === "sent" && <p className="text-meta text-muted">{t.sent}</p>}
      {failure !== null && (
        <p role="alert" className="text-meta text-danger">
          {failure}
        </p>
      )}
    </section>
  );
}
