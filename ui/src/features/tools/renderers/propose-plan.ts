import { NotebookPen } from "lucide-react";
import { ProposedPlan } from "@/features/tools/proposed-plan";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";

export const proposePlan: ToolDefinition = {
  match: ["propose_plan"],
  icon: NotebookPen,
  title: (call, t) => ({ verb: verbFor(call, t.verbs.proposePlan), object: "" }),
  tally: { kind: "proposals", label: (count, t) => t.tally.proposals(count) },
  shown: ProposedPlan,
};
