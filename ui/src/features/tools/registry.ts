/**
 * How each tool is shown. A tool has one file in `renderers/` and one line in `renderers/index.ts`;
 * a tool without a renderer is shown by its name and its first argument.
 */

import type { ActionRequired } from "@holdfast/client";
import type { LucideIcon } from "lucide-react";
import { type ComponentType, lazy } from "react";
import type { ToolStrings } from "@/i18n/en/tools";
import { part } from "@/lib/lazy-import";
import type { CallActions } from "./actions";
import { GenericBody } from "./bodies/generic";
import type { Call } from "./call";

export interface ToolTitle {
  verb: string;
  /** What it is done to; shown in the code font. */
  object: string;
}

interface BodyProps {
  call: Call;
}

export interface ActionRequiredProps {
  call: Call;
  action: ActionRequired;
  /** `null`: the reader may not write in this chat. */
  actions: CallActions | null;
}

export interface ShownProps {
  call: Call;
  /** `null`: the reader may not write in this chat. */
  actions: CallActions | null;
  /** Nothing was said since, and the chat waits for the user. */
  isNewest: boolean;
}

type ActionRequiredViews = Partial<
  Record<ActionRequired["type"], ComponentType<ActionRequiredProps>>
>;

/** Calls with the same `kind` are counted together in the head of a folded run. */
interface Tally {
  kind: string;
  label: (count: number, t: ToolStrings) => string;
}

export interface ToolDefinition {
  /** The names of the tool. */
  match: readonly string[];
  icon: LucideIcon;
  title: (call: Call, t: ToolStrings) => ToolTitle;
  tally: Tally;
  /** What an open card shows; loaded when a card is first opened. Without it: arguments and result. */
  body?: () => Promise<{ default: ComponentType<BodyProps> }>;
  /** Instead of the usual form, by what is required. */
  actionRequired?: ActionRequiredViews;
  /** Of a call that is done: shown below its title, also if the card is not open. */
  shown?: ComponentType<ShownProps>;
}

export interface ToolRenderer extends Omit<ToolDefinition, "body"> {
  Body: ComponentType<BodyProps>;
}

const renderers = new Map<string, ToolRenderer>();

/** Later registrations of a name replace earlier ones. Returns a function that takes it back. */
export function registerTool(definition: ToolDefinition): () => void {
  const renderer = rendererFrom(definition);
  for (const name of definition.match) renderers.set(name, renderer);
  return () => {
    for (const name of definition.match)
      if (renderers.get(name) === renderer) renderers.delete(name);
  };
}

export function rendererFrom({ body, ...rest }: ToolDefinition): ToolRenderer {
  return { ...rest, Body: body === undefined ? GenericBody : lazyBody(body) };
}

/** A body that cannot be loaded is shown as the generic one: nothing of the call is hidden. */
function lazyBody(load: NonNullable<ToolDefinition["body"]>): ComponentType<BodyProps> {
  return lazy(() => part(load).catch(() => ({ default: GenericBody })));
}

export function findRenderer(tool: string): ToolRenderer | undefined {
  return renderers.get(tool);
}

/** In the order of their first registration, each once. */
export function allRenderers(): ToolRenderer[] {
  return [...new Set(renderers.values())];
}
