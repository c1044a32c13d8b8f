import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { PaletteDialog } from "./palette-dialog";
import { openOverlay } from "./shortcuts";

// The commands load slowly: here, never.
vi.mock("./palette", () => new Promise(() => {}));

afterEach(() => {
  act(() => openOverlay(null));
  cleanup();
});

it("keys that are typed while the commands load are taken by the palette", () => {
  render(
    <>
      <textarea aria-label="Message" />
      <PaletteDialog />
    </>,
  );
  screen.getByLabelText("Message").focus();
  act(() => openOverlay("palette"));
  const field = screen.getByPlaceholderText<HTMLInputElement>(/./);
  expect(document.activeElement).toBe(field);
  fireEvent.change(field, { target: { value: "kelp" } });
  expect(field.value).toBe("kelp");
});
