import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { showToast, Toasts } from "./toast";

afterEach(cleanup);

it("toasts are at the top, where they do not cover Send", () => {
  render(<Toasts />);
  act(() => showToast("Saved."));
  const place = screen.getByText("Saved.").closest("ol")?.className ?? "";
  expect(place).toContain("top-");
  expect(place).not.toContain("bottom-");
});
