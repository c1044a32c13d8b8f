import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Call } from "./call";
import { ToolCard } from "./tool-card";

afterEach(cleanup);

const CALL = {
  id: "c",
  tool: "propose_plan",
  arguments: { path: "p.md" },
  exact: {},
  source: "",
  needs: null,
  state: "done",
  result: { output: "# Rename it\n\nFirst **this**." },
  startedAt: null,
} as unknown as Call;

function shown(isNewest: boolean, call: Call = CALL) {
  const send = vi.fn();
  const actions = { send, decide: vi.fn(), answer: vi.fn() };
  const rest = { action: null, actions, index: 0, isOpen: false, onToggle: () => {} };
  const { unmount } = render(<ToolCard call={call} isNewest={isNewest} {...rest} />);
  return { send, unmount };
}

it("shows the plan as prose without being opened, and has it carried out", async () => {
  const { send, unmount } = shown(true);
  expect(await screen.findByRole("heading", { name: "Rename it" })).toBeTruthy();
  expect(screen.getByRole("button", { name: "Copy plan" })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Implement" }));
  expect(send).toHaveBeenCalledWith(
    { text: "Implement the plan.", model: null, planMode: false },
    "queue",
  );
  unmount();
});

it("an answered plan is not implemented again, and a refused one is not shown", () => {
  const { unmount } = shown(false);
  expect(screen.getByRole("region", { name: "Proposed plan" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Implement" })).toBeNull();
  unmount();
  shown(true, { ...CALL, state: "failed" });
  expect(screen.queryByRole("region", { name: "Proposed plan" })).toBeNull();
});
