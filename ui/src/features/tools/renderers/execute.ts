import { SquareTerminal } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const execute: ToolDefinition = {
  match: ["execute"],
  icon: SquareTerminal,
  title: titleWith("execute", "command"),
  tally: { kind: "commands", label: (count, t) => t.tally.commands(count) },
  body: () => import("@/features/tools/bodies/command"),
};
