import { Pencil } from "lucide-react";
import type { Call } from "@/features/tools/call";
import { editsOf } from "@/features/tools/edits";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";
import type { ToolStrings } from "@/i18n/en/tools";

export const editFile: ToolDefinition = {
  match: ["edit_file", "apply_patch"],
  icon: Pencil,
  title: (call, t) => ({ verb: verbFor(call, t.verbs.editFile), object: editedPaths(call, t) }),
  tally: { kind: "edits", label: (count, t) => t.tally.edits(count) },
  body: () => import("@/features/tools/bodies/edit"),
};

function editedPaths(call: Call, t: ToolStrings): string {
  const paths = editsOf({ ...call, result: null }).map((edit) => edit.path);
  const [first = ""] = paths;
  return paths.length <= 1 ? first : t.pathAndOthers(first, paths.length - 1);
}
