import { Activity } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const processList: ToolDefinition = {
  match: ["process_list"],
  icon: Activity,
  title: titleWith("processList"),
  tally: { kind: "processChecks", label: (count, t) => t.tally.processChecks(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
