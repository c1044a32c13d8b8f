import { BookOpen } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const readSkill: ToolDefinition = {
  match: ["read_skill"],
  icon: BookOpen,
  title: titleWith("readSkill", "name", "path"),
  tally: { kind: "reads", label: (count, t) => t.tally.reads(count) },
  body: () => import("@/features/tools/bodies/file"),
};
