import { Box } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const createWorkspace: ToolDefinition = {
  match: ["create_workspace"],
  icon: Box,
  title: titleWith("createWorkspace"),
  tally: { kind: "workspaceSteps", label: (count, t) => t.tally.workspaceSteps(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
