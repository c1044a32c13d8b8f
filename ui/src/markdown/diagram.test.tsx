/** Diagrams: what is drawn is a picture with its source, everything else is code. */
import { cleanup, render, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Markdown } from "./markdown";

const { draw } = vi.hoisted(() => ({ draw: vi.fn() }));
vi.mock("@/diagram/draw", () => ({ draw }));
vi.mock("./highlight", () => ({ tokenize: () => Promise.reject(new Error("no colours")) }));

const FLOW = "```mermaid\nflowchart LR\n  tide --> boat\n```";
const PICTURE = { address: "blob:x/1", width: 300, height: 40 };

beforeEach(() => {
  draw.mockReset().mockResolvedValue(PICTURE);
});
afterEach(cleanup);

const shown = (text: string, isLive = false) =>
  render(<Markdown text={text} isLive={isLive} />).container;
const isAsked = () => waitFor(() => expect(draw).toHaveBeenCalled());

it.each([FLOW, `- item\n\n  ${FLOW.replaceAll("\n", "\n  ")}`])("a diagram: %j", async (text) => {
  const container = shown(text);
  expect(container.textContent).toContain("tide --> boat"); // as code, until it is drawn
  await waitFor(() => expect(container.querySelector("figure.diagram img")).not.toBeNull());
  expect(container.querySelector("img")?.getAttribute("src")).toBe(PICTURE.address);
  expect(container.querySelector("details")?.textContent).toContain("tide --> boat");
});

it.each([
  ["cannot be drawn", () => Promise.resolve(null)],
  ["is not answered", () => Promise.reject(new Error("gone"))],
])("a source that %s is code", async (_why, answer) => {
  draw.mockImplementation(answer);
  const container = shown(FLOW);
  await isAsked();
  await Promise.resolve();
  expect(container.querySelector("img")).toBeNull();
  expect(container.textContent).toContain("tide --> boat");
});

it("is drawn once its fence is closed, and no code of another language is", async () => {
  const container = shown("```mermaid\nflowchart LR\n  tide", true);
  shown("```python\ntide\n```");
  shown(`\`\`\`mermaid\n${"%% a long one\n".repeat(1000)}\n\`\`\``);
  shown(FLOW);
  await isAsked();
  expect(draw.mock.calls.map(([source]) => source)).toEqual(["flowchart LR\n  tide --> boat"]);
  expect(container.querySelector("img")).toBeNull();
});
