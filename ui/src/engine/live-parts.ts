/** Which parts are streaming. The list keeps its identity until a part starts or goes. */
import type { Preview } from "@holdfast/client";

/** A part that streams: enough to make its item; the preview has the text. */
export interface LiveShape {
  index: number;
  kind: "text" | "reasoning" | "tool_call";
  callId: string;
  tool: string;
}

export const NO_PARTS: readonly LiveShape[] = [];

/** `before` itself, unless another part streams. */
export function livePartsOf(
  preview: Preview | null,
  before: readonly LiveShape[],
): readonly LiveShape[] {
  const parts = Object.entries(preview?.parts ?? {});
  const shapes = parts.map(([index, part], at): LiveShape => {
    const call = part.type === "tool_call" ? part : { call_id: "", tool_name: "" };
    const known = before[at];
    const isKnown =
      known?.index === Number(index) &&
      known.kind === part.type &&
      known.callId === call.call_id &&
      known.tool === call.tool_name;
    return isKnown
      ? known
      : { index: Number(index), kind: part.type, callId: call.call_id, tool: call.tool_name };
  });
  const isSame = shapes.length === before.length && shapes.every((each, at) => each === before[at]);
  return isSame ? before : shapes;
}
