import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { done } from "@/testing/fixtures";
import FileBody from "./file";

afterEach(cleanup);

/** One white pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

function output(data: string) {
  const image = { type: "image", mimeType: "image/png", data };
  return { content: [{ type: "text", text: "a.png: image/png, 70 bytes" }, image] };
}

describe("a file that was read", () => {
  it("is an image with its description", () => {
    render(<FileBody call={done("read_file", { path: "a.png" }, output(PIXEL))} />);
    const image = screen.getByRole("img", { name: "a.png: image/png, 70 bytes" });
    expect(image.getAttribute("src")).toMatch(/^blob:/);
    expect(screen.getByText("a.png: image/png, 70 bytes")).toBeDefined();
  });

  it("is only its description where the data cannot be decoded", () => {
    render(<FileBody call={done("read_file", { path: "a.png" }, output("%"))} />);
    expect(screen.queryByRole("img")).toBeNull();
    expect(screen.getByText("a.png: image/png, 70 bytes")).toBeDefined();
  });

  it("is numbered from its first line", () => {
    const text = "    12\tconst a = 1;\n    13\tconst b = 2;";
    render(<FileBody call={done("read_file", { path: "a.ts", offset: 12 }, text)} />);
    expect(document.body.textContent).not.toContain("\t");
    const numbers = [...document.querySelectorAll(".line-number")];
    expect(numbers.map((each) => each.textContent)).toEqual(["12", "13"]);
  });
});
