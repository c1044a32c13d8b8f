import { Fragment } from "react";
import { toolStrings } from "@/i18n/en/tools";
import { revealed } from "@/lib/hidden";

/** A text that somebody decides about: what cannot be seen in it is shown by its number. */
export function Revealed({ text }: { text: string }) {
  return (
    <bdi dir="ltr" className="font-mono text-code break-all whitespace-pre-wrap">
      {revealed(text).map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are what stands at their place
        <Fragment key={at}>
          {piece.code === null ? (
            piece.text
          ) : (
            <mark
              className="rounded-sm bg-danger px-1 text-danger-fg"
              title={toolStrings.body.invisible}
            >
              {piece.code}
            </mark>
          )}
        </Fragment>
      ))}
    </bdi>
  );
}
