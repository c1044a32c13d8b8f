/** The plan of `update_plan`: every call has the whole list. */
import type { Message } from "@holdfast/client";
import type { Arguments } from "./call";

const TOOL = "update_plan";

const STATUSES = ["pending", "in_progress", "completed", "dropped"] as const;
export type PlanStatus = (typeof STATUSES)[number];

export interface PlanStep {
  text: string;
  status: PlanStatus;
}

export interface Plan {
  steps: readonly PlanStep[];
  note: string;
}

/** Empty while the arguments are being written; what is no step is left out. */
export function planOf(given: Arguments | null): Plan {
  const { steps, note } = given ?? {};
  return {
    steps: Array.isArray(steps) ? steps.flatMap(stepOf) : [],
    note: typeof note === "string" ? note : "",
  };
}

function stepOf(value: unknown): PlanStep[] {
  if (typeof value !== "object" || value === null) return [];
  const { text, status } = value as Record<string, unknown>;
  const known = STATUSES.find((each) => each === status);
  return typeof text === "string" && known !== undefined ? [{ text, status: known }] : [];
}

/** Dropped steps do not count. */
export function progressOf({ steps }: Plan): { done: number; total: number } {
  const left = steps.filter((step) => step.status !== "dropped");
  return { done: left.filter((step) => step.status === "completed").length, total: left.length };
}

export function currentStep({ steps }: Plan): PlanStep | undefined {
  return steps.find((step) => step.status === "in_progress");
}

/** The arguments of the last plan of the present turn; the same object until another plan comes. */
export function latestPlan(messages: readonly Message[]): Arguments | null {
  for (const { role, parts } of messages.toReversed()) {
    if (role === "user") return null;
    for (const part of parts.toReversed())
      if (part.type === "tool_call" && part.tool_name === TOOL) return part.arguments;
  }
  return null;
}
