import { ListChecks } from "lucide-react";
import { currentStep, planOf, progressOf } from "@/features/tools/plan";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";

export const updatePlan: ToolDefinition = {
  match: ["update_plan"],
  icon: ListChecks,
  title: (call, t) => {
    const plan = planOf(call.arguments);
    const { done, total } = progressOf(plan);
    return {
      verb: verbFor(call, t.verbs.updatePlan),
      object: total === 0 ? "" : t.planProgress(done, total, currentStep(plan)?.text ?? ""),
    };
  },
  tally: { kind: "plans", label: (count, t) => t.tally.plans(count) },
  body: () => import("@/features/tools/bodies/plan"),
};
