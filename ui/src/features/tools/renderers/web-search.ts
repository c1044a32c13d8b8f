import { Globe } from "lucide-react";
import type { ToolDefinition } from "@/features/tools/registry";
import { titleWith } from "@/features/tools/title";

export const webSearch: ToolDefinition = {
  match: ["web_search"],
  icon: Globe,
  title: titleWith("webSearch", "query", "url"),
  tally: { kind: "webSearches", label: (count, t) => t.tally.webSearches(count) },
};
