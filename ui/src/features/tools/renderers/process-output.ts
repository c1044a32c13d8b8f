import { Activity } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const processOutput: ToolDefinition = {
  match: ["process_output"],
  icon: Activity,
  title: titleWith("processOutput", "process"),
  tally: { kind: "processChecks", label: (count, t) => t.tally.processChecks(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
