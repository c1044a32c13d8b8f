import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { showToast, Toasts } from "./toast";

afterEach(cleanup);

it("toasts are at the top, where they do not cover Send", () => {
  render(<Toasts />);
  act(() => showToast("Saved."));
  // The text is there twice for a moment: a screen reader is told, too.
  const shown = screen.getAllByText("Saved.").map((each) => each.closest("ol")?.className);
  const place = shown.find((each) => each !== undefined) ?? "";
  expect(place).toContain("top-");
  expect(place).not.toContain("bottom-");
});
