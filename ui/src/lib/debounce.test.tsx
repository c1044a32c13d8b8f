import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { useDebounced } from "./debounce";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function Shown({ value }: { value: string }) {
  return <p>{useDebounced(value, 200)}</p>;
}

it("a value follows when it has rested, and not before", () => {
  vi.useFakeTimers();
  const { rerender } = render(<Shown value="" />);
  for (const value of ["k", "ke", "kelp"]) {
    rerender(<Shown value={value} />);
    act(() => void vi.advanceTimersByTime(150));
  }
  expect(screen.queryByText("kelp")).toBeNull();
  act(() => void vi.advanceTimersByTime(50));
  expect(screen.getByText("kelp")).toBeDefined();
});
