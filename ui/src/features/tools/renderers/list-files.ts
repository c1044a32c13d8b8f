import { FolderOpen } from "lucide-react";
import { argument } from "@/features/tools/call";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";

export const listFiles: ToolDefinition = {
  match: ["list_files"],
  icon: FolderOpen,
  title: (call, t) => ({
    verb: verbFor(call, t.verbs.listFiles),
    object: argument(call, "path") || ".",
  }),
  tally: { kind: "searches", label: (count, t) => t.tally.searches(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
