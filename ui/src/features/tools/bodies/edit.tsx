import { Fragment } from "react";
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
        <Fragment key={`${edit.path}:${edit.becomes}`}>
          {edit.becomes !== undefined && (
            <p className="px-3 py-2 text-meta break-all">
              {edit.becomes === null
                ? toolStrings.body.deletes(edit.path)
                : toolStrings.body.moves(edit.path, edit.becomes)}
            </p>
          )}
          {(edit.diff !== "" || edit.becomes === undefined) && (
            <DiffView text={edit.diff} path={edit.path} />
          )}
        </Fragment>
      ))}
      {(edits.length === 0 || call.state !== "done") && (
        <Output text={text} label={toolStrings.body.result} />
      )}
    </>
  );
}
