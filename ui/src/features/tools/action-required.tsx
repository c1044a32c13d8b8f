/** What a call waits for: the form of its tool, or the usual one. */

import type { ActionRequired } from "@holdfast/client";
import type { ComponentType } from "react";
import { Approval } from "./approval";
import { Question } from "./question";
import type { ActionRequiredProps } from "./registry";
import { rendererOf } from "./renderers";
import { ClientToolRequired, SignInRequired } from "./waiting";

const USUAL: Readonly<Record<ActionRequired["type"], ComponentType<ActionRequiredProps>>> = {
  approval: Approval,
  answer: Question,
  login: SignInRequired,
  result: ClientToolRequired,
};

export function ActionRequiredView(props: ActionRequiredProps) {
  const { type } = props.action;
  const View = rendererOf(props.call.tool).actionRequired?.[type] ?? USUAL[type];
  return <View {...props} />;
}
