import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import type { ChatLog } from "@/engine/chat-store";
import { ClockContext, stoppedAt } from "@/lib/clock";
import { ago, message, NOW } from "@/testing/fixtures";
import { RunState } from "./run-state";

afterEach(cleanup);

it("the elapsed time goes by the page's clock, not by the device's", () => {
  const asked = message(1, "user", [], { created_at: ago(125) });
  const now = { view: { state: { status: "running" }, messages: [asked] } };
  const log = { subscribe: () => () => {}, snapshot: () => now } as unknown as ChatLog;
  render(
    <ClockContext.Provider value={stoppedAt(NOW)}>
      <RunState log={log} />
    </ClockContext.Provider>,
  );
  expect(screen.getByText("2 min 5 s")).toBeDefined();
});
