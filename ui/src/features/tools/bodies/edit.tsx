import type { Call } from "@/features/tools/call";
import { DiffView } from "@/features/tools/diff-view";
import { editsOf } from "@/features/tools/edits";
import { Output } from "@/features/tools/output";
import { outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";

export default function EditBody({ call }: { call: Call }) {
  const edits = editsOf(call);
  const text = outputText(call.result);
  return (
    <>
      {edits.map((edit) => (
        <DiffView key={edit.path} text={edit.diff} path={edit.path} />
      ))}
      {(edits.length === 0 || call.state !== "done") && (
        <Output text={text} label={toolStrings.body.result} />
      )}
    </>
  );
}
