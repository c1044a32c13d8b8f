import { Clock3 } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const clock: ToolDefinition = {
  match: ["clock"],
  icon: Clock3,
  title: titleWith("clock"),
  tally: { kind: "other", label: (count, t) => t.tally.other(count) },
};
