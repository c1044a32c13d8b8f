/** The steps of a plan and the note; the result only if the plan was refused. */
import type { Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { planOf } from "@/features/tools/plan";
import { PlanSteps } from "@/features/tools/plan-steps";
import { outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { ArgumentsSection } from "./section";

export default function PlanBody({ call }: { call: Call }) {
  const { steps, note } = planOf(call.arguments);
  return (
    <>
      {steps.length === 0 ? <ArgumentsSection call={call} /> : <PlanSteps steps={steps} />}
      {note !== "" && <p className="border-t border-line px-3 py-2 text-meta text-muted">{note}</p>}
      {call.state === "failed" && (
        <Output text={outputText(call.result)} label={toolStrings.body.result} />
      )}
    </>
  );
}
