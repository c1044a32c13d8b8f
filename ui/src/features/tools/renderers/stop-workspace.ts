import { Box } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const stopWorkspace: ToolDefinition = {
  match: ["stop_workspace"],
  icon: Box,
  title: titleWith("stopWorkspace"),
  tally: { kind: "workspaceSteps", label: (count, t) => t.tally.workspaceSteps(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
