import { Zap } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const processSignal: ToolDefinition = {
  match: ["process_signal"],
  icon: Zap,
  title: titleWith("processSignal", "process"),
  tally: { kind: "processChecks", label: (count, t) => t.tally.processChecks(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
