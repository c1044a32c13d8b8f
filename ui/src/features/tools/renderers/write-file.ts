import { FilePlus2 } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const writeFile: ToolDefinition = {
  match: ["write_file"],
  icon: FilePlus2,
  title: titleWith("writeFile", "path"),
  tally: { kind: "edits", label: (count, t) => t.tally.edits(count) },
  body: () => import("@/features/tools/bodies/edit"),
};
