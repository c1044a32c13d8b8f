import { Keyboard } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const processInput: ToolDefinition = {
  match: ["process_input"],
  icon: Keyboard,
  title: titleWith("processInput", "process"),
  tally: { kind: "processChecks", label: (count, t) => t.tally.processChecks(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
