import { FileSearch } from "lucide-react";
import { argument } from "@/features/tools/call";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";

export const findFiles: ToolDefinition = {
  match: ["find_files"],
  icon: FileSearch,
  title: (call, t) => ({
    verb: verbFor(call, t.verbs.findFiles),
    object: argument(call, "pattern") || argument(call, "path") || ".",
  }),
  tally: { kind: "searches", label: (count, t) => t.tally.searches(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
