import { readdirSync, readFileSync } from "node:fs";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import ts from "typescript";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Button } from "./button";
import { TooltipLayer } from "./tooltip";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function shown(): string | null {
  return document.querySelector("[data-tooltip-layer]")?.textContent ?? null;
}

it("a tooltip comes with the pointer and goes with it", () => {
  render(
    <>
      <Button tooltip="Rename this chat">Title</Button>
      <p>elsewhere</p>
      <TooltipLayer />
    </>,
  );
  fireEvent.pointerOver(screen.getByRole("button"));
  expect(shown()).toBeNull();
  act(() => void vi.advanceTimersByTime(400));
  expect(shown()).toBe("Rename this chat");
  fireEvent.pointerOver(screen.getByText("elsewhere"));
  expect(shown()).toBeNull();
});

it("a tooltip comes with a long press, and not with a tap", () => {
  render(
    <>
      <Button tooltip="Edit">✎</Button>
      <TooltipLayer />
    </>,
  );
  const button = screen.getByRole("button");
  fireEvent.pointerDown(button, { pointerType: "touch" });
  fireEvent.pointerUp(button, { pointerType: "touch" });
  act(() => void vi.advanceTimersByTime(1000));
  expect(shown()).toBeNull();
  fireEvent.pointerDown(button, { pointerType: "touch" });
  act(() => void vi.advanceTimersByTime(500));
  expect(shown()).toBe("Edit");
});

it("a tooltip that is not the button's name is its description", () => {
  render(<Button aria-label="Regenerate" tooltip="Keeps this answer as an older version" />);
  const button = screen.getByRole("button", { name: "Regenerate" });
  expect(button.getAttribute("aria-description")).toBe("Keeps this answer as an older version");
  cleanup();
  render(<Button aria-label="Edit" tooltip="Edit" />);
  expect(screen.getByRole("button").hasAttribute("aria-description")).toBe(false);
});

it("no button has a native title", () => {
  const found = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".tsx"))
    .flatMap((name) => titledButtons(name));
  expect(found).toEqual([]);
});

function titledButtons(file: string): string[] {
  const found: string[] = [];
  const source = ts.createSourceFile(
    file,
    readFileSync(`src/${file}`, "utf8"),
    ts.ScriptTarget.Latest,
    true,
    ts.ScriptKind.TSX,
  );
  const visit = (node: ts.Node): void => {
    if (
      (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) &&
      /button$/i.test(node.tagName.getText()) &&
      node.attributes.properties.some((each) => each.name?.getText() === "title")
    )
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
