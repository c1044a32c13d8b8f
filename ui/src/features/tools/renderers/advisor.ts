import { Compass } from "lucide-react";
import { adviceOf } from "@/features/tools/advice";
import { argument } from "@/features/tools/call";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";
import { firstLine } from "@/lib/format";

export const advisor: ToolDefinition = {
  match: ["advisor"],
  icon: Compass,
  title: (call, t) => {
    const { kind } = adviceOf(call);
    const isNone = call.state === "failed" && kind !== "advice";
    return {
      verb: isNone
        ? t.advice[kind === "limit" ? "limit" : "error"]
        : verbFor(call, t.verbs.advisor),
      object: firstLine(argument(call, "question")),
    };
  },
  tally: { kind: "advice", label: (count, t) => t.tally.advice(count) },
  body: () => import("@/features/tools/bodies/advice"),
};
