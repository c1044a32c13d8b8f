/** The steps of a plan, each with its status. */
import { Circle, CircleCheck, CircleDot, CircleMinus, type LucideIcon } from "lucide-react";
import { toolStrings } from "@/i18n/en/tools";
import type { PlanStatus, PlanStep } from "./plan";

const t = toolStrings.plan;

const LOOKS: Readonly<Record<PlanStatus, { icon: LucideIcon; looks: string }>> = {
  pending: { icon: Circle, looks: "text-muted" },
  in_progress: { icon: CircleDot, looks: "font-medium" },
  completed: { icon: CircleCheck, looks: "text-muted" },
  dropped: { icon: CircleMinus, looks: "text-muted line-through" },
};

export function PlanSteps({ steps }: { steps: readonly PlanStep[] }) {
  return (
    <ol aria-label={t.label} className="flex flex-col gap-1 px-3 py-2 text-ui">
      {steps.map(({ text, status }, index) => {
        const { icon: Icon, looks } = LOOKS[status];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a plan is sent whole; steps have no id
          <li key={index} className="flex items-start gap-2">
            <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
            <span className={looks}>{text}</span>
            <span className="sr-only">{t.status[status]}</span>
          </li>
        );
      })}
    </ol>
  );
}
