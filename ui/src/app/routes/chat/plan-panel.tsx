/** The plan of the running turn, above the composer: one line that opens to all steps. */
import { ListChecks } from "lucide-react";
import { type ChatLog, useLog } from "@/engine/chat-store";
import { isBusy } from "@/engine/rows";
import { currentStep, latestPlan, planOf, progressOf } from "@/features/tools/plan";
import { PlanSteps } from "@/features/tools/plan-steps";
import { toolStrings as t } from "@/i18n/en/tools";

export function PlanPanel({ log }: { log: ChatLog }) {
  const given = useLog(log, (now) =>
    isBusy(now.view.state?.status) ? latestPlan(now.view.messages) : null,
  );
  const plan = planOf(given);
  const { done, total } = progressOf(plan);
  if (total === 0) return null;
  return (
    <div className="mx-auto mb-2 w-full max-w-(--column) px-4">
      <details className="rounded-card border border-line bg-subtle">
        <summary className="flex min-h-8 cursor-pointer items-center gap-2 px-3 text-meta text-muted">
          <ListChecks aria-hidden className="size-4 shrink-0" />
          <span className="truncate">
            {t.plan.label}: {t.planProgress(done, total, currentStep(plan)?.text ?? "")}
          </span>
        </summary>
        <div className="max-h-48 overflow-auto border-t border-line">
          <PlanSteps steps={plan.steps} />
        </div>
      </details>
    </div>
  );
}
