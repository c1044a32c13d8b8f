/** The result; the arguments only if there is more than the one in the title. */
import type { Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { ArgumentsSection } from "./section";

const t = toolStrings.body;

export default function BriefBody({ call }: { call: Call }) {
  const text = outputText(call.result);
  const hasMore = Object.keys(call.arguments ?? {}).length > 1;
  return (
    <>
      {hasMore && <ArgumentsSection call={call} />}
      {call.result !== null && <Output text={text} label={t.result} />}
      {call.result === null && <p className="px-3 py-2 text-meta text-muted">{t.noResultYet}</p>}
    </>
  );
}
