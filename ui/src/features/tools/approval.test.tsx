import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ACTIONS, action, call } from "@/testing/fixtures";
import { Approval } from "./approval";

afterEach(cleanup);

function shown() {
  const decide = vi.fn(ACTIONS.decide);
  const asked = call("execute", { command: "ls" });
  render(
    <Approval
      call={asked}
      action={action("approval", asked.id)}
      actions={{ ...ACTIONS, decide }}
    />,
  );
  return decide;
}

const button = (name: string) => screen.getByRole("button", { name });

it("denying moves the focus to the reason, and going back to where it was", () => {
  const decide = shown();
  button("Deny…").focus();
  fireEvent.click(button("Deny…"));
  expect(document.activeElement).toBe(screen.getByRole("textbox"));
  fireEvent.click(button("Back"));
  expect(document.activeElement).toBe(button("Deny…"));
  expect(decide).not.toHaveBeenCalled();
});

it("no button of one stage becomes a button of the other", () => {
  shown();
  const [approve, deny] = screen.getAllByRole("button");
  fireEvent.click(button("Deny…"));
  expect(approve?.isConnected).toBe(false);
  expect(deny?.isConnected).toBe(false);
});
