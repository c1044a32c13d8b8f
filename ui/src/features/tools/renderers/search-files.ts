import { Search } from "lucide-react";
import { argument } from "@/features/tools/call";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";

export const searchFiles: ToolDefinition = {
  match: ["search_files"],
  icon: Search,
  title: (call, t) => ({
    verb: verbFor(call, t.verbs.searchFiles),
    object: argument(call, "pattern") || argument(call, "path") || ".",
  }),
  tally: { kind: "searches", label: (count, t) => t.tally.searches(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
