/** The plan of plan mode, as prose: the user copies it, or has it carried out. */
import { toolStrings } from "@/i18n/en/tools";
import { Markdown } from "@/markdown/markdown";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import type { ShownProps } from "./registry";
import { outputText } from "./results";

const t = toolStrings.proposal;

export function ProposedPlan({ call, actions, isNewest }: ShownProps) {
  const text = outputText(call.result);
  return (
    <section
      aria-label={t.label}
      className="mt-1 ml-6 rounded-card border border-line bg-raised px-3 py-2"
    >
      <Markdown text={text} />
      <div className="mt-2 flex items-center gap-2">
        {actions !== null && isNewest && (
          <Button
            variant="accent"
            onClick={() =>
              actions.send({ text: t.implementing, model: null, planMode: false }, "queue")
            }
          >
            {t.implement}
          </Button>
        )}
        <CopyButton label={t.copy} text={() => text} />
      </div>
    </section>
  );
}
