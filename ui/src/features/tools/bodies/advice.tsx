/** The question, and the advice as prose while it comes and when it is there; or why there is none. */
import { useShown } from "@/features/chat/live";
import { adviceOf } from "@/features/tools/advice";
import { argument, type Call } from "@/features/tools/call";
import { toolStrings } from "@/i18n/en/tools";
import { cn } from "@/lib/classes";
import { Markdown } from "@/markdown/markdown";

const t = toolStrings.advice;

const NO_ADVICE = {
  limit: "border-line-strong text-muted",
  error: "border-danger text-danger",
} as const;

export default function AdviceBody({ call }: { call: Call }) {
  const question = argument(call, "question");
  const intent = argument(call, "intent");
  return (
    <div className="space-y-2 px-3 py-2 text-ui wrap-anywhere">
      {question !== "" && (
        <p dir="auto" className="whitespace-pre-wrap text-muted">
          {question}
        </p>
      )}
      {intent !== "" && (
        <p dir="auto" className="whitespace-pre-wrap text-meta text-muted">
          {t.intent(intent)}
        </p>
      )}
      <Answer call={call} />
    </div>
  );
}

function Answer({ call }: { call: Call }) {
  const live = useShown(call.id);
  const { kind, words, model, remaining } = adviceOf(call);
  if (kind === "asking")
    return (
      <section aria-label={t.label} aria-busy>
        {live === "" ? <p className="text-muted">{t.asking}</p> : <Markdown text={live} isLive />}
      </section>
    );
  if (kind === "advice")
    return (
      <section aria-label={t.label} className="border-l-2 border-accent pl-3">
        <Markdown text={words} />
        <p className="mt-1 text-meta text-muted">{t.of(model, remaining)}</p>
      </section>
    );
  return (
    <section aria-label={t.label} className={cn("border-l-2 pl-3", NO_ADVICE[kind])}>
      <p className="font-medium">{t[kind]}</p>
      <p dir="auto" className="whitespace-pre-wrap">
        {words}
      </p>
    </section>
  );
}
