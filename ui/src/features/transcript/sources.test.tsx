import type { MessagePart } from "@holdfast/client";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { AssistantText, Sources } from "./assistant-text";
import { marksOf, sourcesOf } from "./sources";

afterEach(cleanup);

const KELP = { url: "https://kelp.example/a", title: "Kelp" };
const TIDE = { url: "https://tide.example/b", title: "" };
const SOURCES = [KELP, TIDE];

/** Cites the span of `text` that is `words`, in code points. */
function cite(text: string, words: string, { url }: { url: string }) {
  const start = [...text.slice(0, text.indexOf(words))].length;
  return { start, end: start + [...words].length, source_url: url };
}

/** The text with a number in brackets at each mark. */
function marked(text: string, citations: ReturnType<typeof cite>[], sources = SOURCES): string {
  return marksOf({ text, citations }, sources).reduceRight(
    (shown, { at, number }) => `${shown.slice(0, at)}[${number}]${shown.slice(at)}`,
    text,
  );
}

describe("the marks of a text", () => {
  it("stand behind the words, with the number of their source", () => {
    const text = "Kelp grows. Tides turn.";
    const citations = [cite(text, "Kelp grows.", KELP), cite(text, "Tides turn.", TIDE)];
    expect(marked(text, citations)).toBe("Kelp grows.[1] Tides turn.[2]");
  });

  it("count code points, also beyond the BMP", () => {
    const text = "🌊🌊 turn 👩‍🚀. Kelp 🌿 grows.";
    const citations = [cite(text, "turn 👩‍🚀.", TIDE), cite(text, "Kelp 🌿", KELP)];
    expect(marked(text, citations)).toBe("🌊🌊 turn 👩‍🚀.[2] Kelp 🌿[1] grows.");
  });

  it("of one source have one number, once in a place", () => {
    const text = "Kelp grows. Kelp glows.";
    const twice = [cite(text, "grows.", KELP), cite(text, "Kelp grows.", KELP)];
    expect(marked(text, [...twice, cite(text, "Kelp glows.", KELP)])).toBe(
      "Kelp grows.[1] Kelp glows.[1]",
    );
  });

  it("of two sources in one place are in the order of their numbers", () => {
    const text = "Kelp grows.";
    expect(marked(text, [cite(text, text, TIDE), cite(text, text, KELP)])).toBe(
      "Kelp grows.[1][2]",
    );
  });

  it("stand before the blanks at the end of a span", () => {
    const text = "Kelp grows. \n\nTides turn.";
    expect(marked(text, [cite(text, "Kelp grows. \n\n", KELP)])).toBe(
      "Kelp grows.[1] \n\nTides turn.",
    );
  });

  it("are none without a source, and none for blanks", () => {
    const text = "Kelp  grows.";
    expect(marked(text, [cite(text, "Kelp", { url: "https://other.example" })])).toBe(text);
    expect(marked(text, [{ start: 4, end: 6, source_url: KELP.url }])).toBe(text);
  });

  it("stay within a text that is shorter than the span", () => {
    expect(marked("Kelp", [{ start: 2, end: 90, source_url: KELP.url }])).toBe("Kelp[1]");
  });
});

it("sources are numbered in their order, each address once", () => {
  const parts = [KELP, TIDE, KELP].map((source) => ({ type: "source", ...source }) as MessagePart);
  expect(sourcesOf(parts).map(({ url }) => url)).toEqual([KELP.url, TIDE.url]);
});

describe("a text that cites", () => {
  it("links each number to its source, as the list below numbers it", () => {
    const text = "Kelp grows. Tides turn.";
    const citations = [cite(text, "Kelp grows.", KELP), cite(text, "Tides turn.", TIDE)];
    render(
      <>
        <AssistantText text={text} index={0} marks={marksOf({ text, citations }, SOURCES)} />
        <Sources sources={SOURCES} />
      </>,
    );
    const links = [1, 2].map((number) =>
      screen.getByRole("link", { name: new RegExp(`^Source ${number}: `) }),
    );
    expect(links.map((link) => link.getAttribute("aria-label"))).toEqual([
      "Source 1: Kelp",
      "Source 2: tide.example",
    ]);
    expect(links.map((link) => link.getAttribute("href"))).toEqual([KELP.url, TIDE.url]);
    expect(links.map((link) => link.closest("sup")?.textContent)).toEqual(["1", "2"]);
    const list = screen.getByRole("list", { name: "Sources" });
    expect([...list.children].map((item) => item.textContent)).toEqual(["1Kelp", "2tide.example"]);
  });

  it("has no link to an address that is not safe", () => {
    const source = { url: "javascript:alert(1)", title: "Not a place" };
    const citations = [cite("Kelp", "Kelp", source)];
    const marks = marksOf({ text: "Kelp", citations }, [source]);
    render(<AssistantText text="Kelp" index={0} marks={marks} />);
    expect(screen.queryByRole("link")).toBeNull();
    expect(screen.getByRole("img", { name: "Source 1: Not a place" }).textContent).toBe("1");
  });
});
