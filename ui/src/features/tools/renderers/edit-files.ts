import { Pencil } from "lucide-react";
import { argument, type Call } from "@/features/tools/call";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";
import type { ToolStrings } from "@/i18n/en/tools";

export const editFiles: ToolDefinition = {
  match: ["edit_files"],
  icon: Pencil,
  title: (call, t) => ({ verb: verbFor(call, t.verbs.editFiles), object: editedPaths(call, t) }),
  tally: { kind: "edits", label: (count, t) => t.tally.edits(count) },
  body: () => import("@/features/tools/bodies/edit"),
};

function editedPaths(call: Call, t: ToolStrings): string {
  const files = call.arguments?.files;
  if (!Array.isArray(files)) return argument(call, "path");
  const paths = files
    .map((file) => (file as { path?: unknown } | null)?.path)
    .filter((path) => typeof path === "string");
  const [first = ""] = paths;
  return paths.length <= 1 ? first : t.pathAndOthers(first, paths.length - 1);
}
