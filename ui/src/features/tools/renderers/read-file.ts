import { FileText } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const readFile: ToolDefinition = {
  match: ["read_file"],
  icon: FileText,
  title: titleWith("readFile", "path"),
  tally: { kind: "reads", label: (count, t) => t.tally.reads(count) },
  body: () => import("@/features/tools/bodies/file"),
};
