/**
 * A call that asks the user: one question after the other, each with its options and room for own
 * words. Nothing is sent before the last one is answered; the server takes all answers at once.
 */
import { useEffect, useId, useRef, useState } from "react";
import { toolStrings } from "@/i18n/en/tools";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/textarea";
import type { CallActions } from "./actions";
import { ArgumentList } from "./arguments";
import { argument, type Call } from "./call";
import { type Answer, type AskedQuestion, questionsOf } from "./questions";
import type { ActionRequiredProps } from "./registry";

const t = toolStrings.question;
const ANSWER_CHARS_MAX = 4000;

export function Question({ call, actions }: ActionRequiredProps) {
  const typed = questionsOf(call.arguments);
  const questions = typed.length > 0 ? typed : [untyped(call)];
  return (
    <section aria-label={t.label} className="space-y-2 border-l-2 border-warn px-3 py-2">
      {questions.every((question) => question.text === "") && (
        <ArgumentList given={call.arguments ?? {}} exact={call.exact} />
      )}
      {actions === null ? (
        questions.map((question) => (
          <p key={question.text} className="text-ui whitespace-pre-wrap" dir="auto">
            {question.text}
          </p>
        ))
      ) : (
        <Form
          questions={questions}
          send={(answers) =>
            actions.answer(
              call.id,
              typed.length > 0 ? { answers } : (answers[0]?.text ?? ""),
              false,
            )
          }
        />
      )}
    </section>
  );
}

/** Of another tool whose call a person answers. */
function untyped(call: Call): AskedQuestion {
  const text = argument(call, "question") || argument(call, "prompt");
  return { text, options: [], multiple: false };
}

/** What is chosen of one question; `other`: own words count, too. */
interface Choice {
  chosen: readonly string[];
  other: boolean;
  text: string;
}

/** The first option is chosen for the person; of several that may be chosen, none is. */
function firstChoice({ options, multiple }: AskedQuestion): Choice {
  const [first] = options;
  return {
    chosen: first === undefined || multiple ? [] : [first.label],
    other: first === undefined,
    text: "",
  };
}

function answerOf({ chosen, other, text }: Choice): Answer {
  return { chosen, text: other ? text.trim() : "" };
}

function isAnswered(choice: Choice): boolean {
  const { chosen, text } = answerOf(choice);
  return text !== "" || (chosen.length > 0 && !choice.other);
}

interface FormProps {
  questions: readonly AskedQuestion[];
  send: (answers: readonly Answer[]) => ReturnType<CallActions["answer"]>;
}

function Form({ questions, send }: FormProps) {
  const [choices, setChoices] = useState(() => questions.map(firstChoice));
  const [step, setStep] = useState(0);
  const [isSent, setIsSent] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const shown = useRef(step);
  useEffect(() => {
    if (shown.current === step) return; // the first question takes no focus away
    shown.current = step;
    const field = (selector: string) => form.current?.querySelector<HTMLElement>(selector);
    (field("input:checked") ?? field("input, textarea"))?.focus();
  }, [step]);
  const question = questions[step];
  const choice = choices[step];
  if (question === undefined || choice === undefined) return null;
  if (isSent) return <p className="text-meta text-muted">{t.sent}</p>;
  const isLast = step === questions.length - 1;
  const go = () => {
    if (!isAnswered(choice)) return;
    if (!isLast) {
      setStep(step + 1);
      return;
    }
    setIsSent(true);
    setFailure(null);
    send(choices.map(answerOf)).catch((problem: unknown) => {
      setIsSent(false);
      setFailure(problem instanceof Error ? problem.message : t.notSent);
    });
  };
  return (
    <form
      ref={form}
      className="space-y-2"
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <Choices
        key={step}
        question={question}
        choice={choice}
        onChange={(next) => setChoices(choices.with(step, next))}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" variant="accent" aria-disabled={!isAnswered(choice)}>
          {isLast ? t.answer : t.next}
        </Button>
        {step > 0 && (
          <Button variant="plain" onClick={() => setStep(step - 1)}>
            {t.back}
          </Button>
        )}
        {questions.length > 1 && (
          <span className="numeric text-meta text-muted">
            {t.progress(step + 1, questions.length)}
          </span>
        )}
      </div>
      {failure !== null && (
        <p role="alert" className="text-meta text-danger">
          {failure}
        </p>
      )}
    </form>
  );
}

interface ChoicesProps {
  question: AskedQuestion;
  choice: Choice;
  onChange: (choice: Choice) => void;
}

/** Radio buttons or check boxes of the browser: arrows, space and Enter do what they do anywhere. */
function Choices({ question, choice, onChange }: ChoicesProps) {
  const id = useId();
  const { text, options, multiple } = question;
  const type = multiple ? "checkbox" : "radio";
  const choose = (label: string, isChosen: boolean) => {
    if (!multiple) onChange({ ...choice, chosen: [label], other: false });
    else {
      const others = choice.chosen.filter((each) => each !== label);
      onChange({ ...choice, chosen: isChosen ? [...others, label] : others });
    }
  };
  return (
    <fieldset className="min-w-0 space-y-1">
      <legend className="mb-1 text-ui wrap-anywhere whitespace-pre-wrap" dir="auto">
        {text}
      </legend>
      {options.map(({ label, detail }) => (
        <label key={label} className="flex items-start gap-2 py-1 text-ui coarse:min-h-11">
          <input
            type={type}
            name={id}
            checked={choice.chosen.includes(label)}
            onChange={(event) => choose(label, event.target.checked)}
            className="mt-1 size-4 shrink-0 accent-accent"
          />
          <span className="min-w-0 wrap-anywhere" dir="auto">
            {label}
            {detail !== "" && <span className="block text-meta text-muted">{detail}</span>}
          </span>
        </label>
      ))}
      {options.length > 0 && (
        <label className="flex items-start gap-2 py-1 text-ui coarse:min-h-11">
          <input
            type={type}
            name={id}
            checked={choice.other}
            onChange={(event) =>
              onChange({
                ...choice,
                chosen: multiple ? choice.chosen : [],
                other: event.target.checked,
              })
            }
            className="mt-1 size-4 shrink-0 accent-accent"
          />
          {t.other}
        </label>
      )}
      {choice.other && (
        <Textarea
          rows={2}
          value={choice.text}
          maxLength={ANSWER_CHARS_MAX}
          aria-label={options.length > 0 || text === "" ? t.answerField : text}
          onChange={(event) => onChange({ ...choice, text: event.target.value })}
          className="max-h-60 w-full rounded-control border border-line-strong bg-bg p-2 text-ui"
        />
      )}
    </fieldset>
  );
}
