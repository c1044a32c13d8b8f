import { MessageCircleQuestion } from "lucide-react";
import { questionsOf } from "@/features/tools/questions";
import type { ToolDefinition } from "@/features/tools/registry";
import { verbFor } from "@/features/tools/title";
import { firstLine } from "@/lib/format";

export const askUser: ToolDefinition = {
  match: ["ask_user"],
  icon: MessageCircleQuestion,
  title: (call, t) => {
    const questions = questionsOf(call.arguments);
    const first = firstLine(questions[0]?.text ?? "");
    return {
      verb: verbFor(call, t.verbs.askUser),
      object: questions.length > 1 ? t.questionAndOthers(first, questions.length - 1) : first,
    };
  },
  tally: { kind: "questions", label: (count, t) => t.tally.questions(count) },
  body: () => import("@/features/tools/bodies/questions"),
};
