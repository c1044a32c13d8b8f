/** Arguments and result as they are; for tools without a body of their own. */
import type { Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { pretty } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { ArgumentsSection } from "./section";

export function GenericBody({ call }: { call: Call }) {
  const { output } = call.result ?? {};
  const text = typeof output === "string" ? output : pretty(output);
  return (
    <>
      <ArgumentsSection call={call} />
      {call.result !== null && <Output text={text} label={toolStrings.body.result} />}
    </>
  );
}
