/** The questions, each with its answer; the result as it is if it has no answers. */
import type { Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { answersOf, questionsOf } from "@/features/tools/questions";
import { outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { ArgumentsSection } from "./section";

export default function QuestionsBody({ call }: { call: Call }) {
  const questions = questionsOf(call.arguments);
  const answers = answersOf(call.result?.output);
  if (questions.length === 0) return <ArgumentsSection call={call} />;
  return (
    <>
      <dl className="space-y-2 px-3 py-2 text-ui wrap-anywhere whitespace-pre-wrap" dir="auto">
        {questions.map(({ text }, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: answers belong to questions by their place
          <div key={number}>
            <dt className="text-muted">{text}</dt>
            {answers?.[number]?.chosen.map((label) => (
              <dd key={label}>{label}</dd>
            ))}
            {(answers?.[number]?.text ?? "") !== "" && <dd>{answers?.[number]?.text}</dd>}
          </div>
        ))}
      </dl>
      {call.result !== null && answers === null && (
        <Output text={outputText(call.result)} label={toolStrings.body.result} />
      )}
    </>
  );
}
