import { Globe } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const webFetch: ToolDefinition = {
  match: ["web_fetch"],
  icon: Globe,
  title: titleWith("webFetch", "url"),
  tally: { kind: "webPages", label: (count, t) => t.tally.webPages(count) },
  body: () => import("@/features/tools/bodies/brief"),
};
