import type { Message, MessagePart } from "@holdfast/client";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { ChatLog } from "@/engine/chat-store";
import { message, text } from "@/testing/fixtures";
import { PlanPanel } from "./plan-panel";

afterEach(cleanup);

function plan(...statuses: string[]): MessagePart {
  const steps = statuses.map((status, index) => ({ text: `step ${index + 1}`, status }));
  return {
    type: "tool_call",
    call_id: `c${statuses.join()}`,
    tool_name: "update_plan",
    arguments: { steps },
    action_required: null,
    digest: null,
    executed_by: "server",
  };
}

function panel(status: string, messages: Message[]): void {
  const now = { view: { state: { status }, messages } };
  render(
    <PlanPanel log={{ subscribe: () => () => {}, snapshot: () => now } as unknown as ChatLog} />,
  );
}

const asked = message(1, "user", [text("mend it")]);
const first = message(2, "assistant", [plan("in_progress", "pending")]);
const second = message(4, "assistant", [plan("completed", "in_progress")]);

it("shows the last plan of the running turn", () => {
  panel("running", [asked, first, second]);
  expect(screen.getByText("Plan: 1 of 2 done, now: step 2")).toBeDefined();
});

it("is not there at rest, nor for the plan of an earlier turn", () => {
  panel("idle", [asked, first]);
  expect(screen.queryByText(/^Plan/)).toBeNull();
  panel("running", [asked, first, message(5, "user", [text("thanks")])]);
  expect(screen.queryByText(/^Plan/)).toBeNull();
});
