import { cleanup, render } from "@testing-library/react";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { CitationMark } from "./citations";
import { lengthBefore, offsetInSource } from "./citations";
import { Markdown } from "./markdown";

// Colours come from a chunk of their own, later; here they never do.
vi.mock("./highlight", () => ({ tokenize: () => Promise.reject(new Error("no colours")) }));

afterEach(cleanup);

function mark(at: number, number: number): CitationMark {
  return { at, number, title: `Title ${number}`, url: `https://s${number}.example/` };
}

/** Each `⟦n⟧` in the text is a mark with this number. */
function drawn(text: string): HTMLElement {
  const marks: CitationMark[] = [];
  let bare = "";
  for (const piece of text.split(/(⟦\d+⟧)/)) {
    const number = /^⟦(\d+)⟧$/.exec(piece)?.[1];
    if (number === undefined) bare += piece;
    else marks.push(mark(bare.length, Number(number)));
  }
  return render(<Markdown text={bare} marks={marks} />).container;
}

/** The elements with these names and their text, numbers in brackets; all others without a tag. */
function outline(root: Element, ...names: string[]): string {
  const inner = [...root.childNodes].map((node) => {
    if (!(node instanceof Element)) return node.textContent;
    if (node.classList.contains("citation")) return `[${node.textContent}]`;
    const name = node.localName;
    return names.includes(name)
      ? `<${name}>${outline(node, ...names)}</>`
      : outline(node, ...names);
  });
  return inner.join("");
}

describe("numbers in a text", () => {
  it.each([
    ["in a line", "Kelp grows.⟦1⟧ Tides turn.⟦2⟧", "<p>Kelp grows.[1] Tides turn.[2]</>"],
    ["two in a place", "Kelp⟦1⟧⟦2⟧ grows", "<p>Kelp[1][2] grows</>"],
    ["beyond the BMP", "🌊 turn⟦1⟧ 🌊", "<p>🌊 turn[1] 🌊</>"],
    ["in bold words", "**Kelp⟦1⟧ grows**", "<p><strong>Kelp[1] grows</></>"],
    ["behind bold words", "**Kelp**⟦1⟧ grows", "<p><strong>Kelp</>[1] grows</>"],
    [
      "in a second block",
      "One.\n\nTwo⟦1⟧ and.\n\nThree.",
      "<p>One.</><p>Two[1] and.</><p>Three.</>",
    ],
    ["in a heading", "# Kelp⟦1⟧\n\nGrows.", "<h3>Kelp[1]</><p>Grows.</>"],
    ["behind escapes", "a \\* b⟦1⟧ c", "<p>a * b[1] c</>"],
    ["behind an entity", "a &amp; b⟦1⟧ c", "<p>a & b[1] c</>"],
    ["behind a formula", "so $\\no a_1 * b$⟦1⟧ holds", "<p>so $\\no a_1 * b$[1] holds</>"],
    ["behind a footnote's number", "a[^n] b⟦1⟧ c\n\n[^n]: Note", "<p>a1 b[1] c</><p>Note</>"],
    ["in raw HTML, which is text", "a <b>c⟦1⟧ d</b>", "<p>a <b>c[1] d</b></>"],
  ])("stand %s", (_where, text, shown) => {
    expect(outline(drawn(text), "p", "strong", "h3").replaceAll("\n", "")).toBe(shown);
  });

  it.each([
    ["a list", "- Kelp⟦1⟧\n- Tides⟦2⟧ turn", "<li>Kelp[1]</><li>Tides[2] turn</>"],
    ["a quote of two lines", "> Kelp\n> grows⟦1⟧ fast", "Kelp\ngrows[1] fast"],
    ["a table", "| a | b |\n| - | - |\n| Kelp⟦1⟧ | c |", "<th>a</><th>b</><td>Kelp[1]</><td>c</>"],
  ])("stand in %s", (_where, text, shown) => {
    expect(outline(drawn(text), "li", "th", "td").trim().replaceAll(/>\n+/g, ">")).toBe(shown);
  });

  it.each([
    ["a link", "See [the kelp⟦1⟧ page](https://a.example) now", "See the kelp page[1] now"],
    ["code", "Call `grow⟦1⟧()` now⟦1⟧.", "Call grow()[1] now[1]."],
    ["a bare address", "https://a.example/⟦1⟧kelp now", "https://a.example/kelp[1] now"],
    ["a link, in order, each once", "[a⟦1⟧ b⟦2⟧ c⟦1⟧](https://a.example) d", "a b c[1][2] d"],
  ])("follow %s as a whole", (_what, text, shown) => {
    expect(outline(drawn(text))).toBe(shown);
  });

  it("stand below a block of code that is cited, each once", () => {
    const root = drawn("Before.\n\n```py\nx = 1⟦2⟧\ny⟦1⟧ = 2⟦2⟧\n```\n\nAfter.");
    const code = root.querySelector("pre");
    expect(code?.textContent).toContain("y = 2");
    expect(code?.querySelector(".citation")).toBeNull();
    expect(outline(root, "p")).toMatch(/<p>Before\.<\/>[^[]*<p>\[1\]\[2\]<\/><p>After\.<\/>$/);
  });

  it("stand below code in a list", () => {
    const root = drawn("- Do\n\n  ```\n  x = 1⟦1⟧\n  ```\n\n- Then");
    const [first, second] = root.querySelectorAll("li");
    expect(first?.lastElementChild?.textContent?.trim()).toBe("1");
    expect([second?.textContent?.trim(), root.querySelectorAll(".citation").length]).toEqual([
      "Then",
      1,
    ]);
  });

  it("stand at the end of a footnote", () => {
    const root = drawn("a[^n]\n\n[^n]: A note⟦1⟧ of kelp\n");
    expect(outline(root.querySelector(".footnotes li") as Element).trim()).toBe(
      "A note of kelp[1]",
    );
  });

  it("take nothing away, and none is lost, wherever they stand", () => {
    const pieces = [
      "Kelp *grows*. ",
      "[link](https://a.example) ",
      "`code` ",
      "$a*b$ ",
      "\n\n- item\n",
      "\n\n```\ncode\n```\n",
      "\n> quote\n",
      "a@b.example ",
      "🌊 &amp; \\* ",
    ];
    const texts = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(texts, fc.nat(), (parts, place) => {
        const text = parts.join("");
        const at = 1 + (place % text.length);
        const plain = render(<Markdown text={text} />).container.textContent;
        const { container } = render(<Markdown text={text} marks={[mark(at, 7)]} />);
        const [citation, ...more] = container.querySelectorAll(".citation");
        expect([citation?.textContent, more.length]).toEqual(["7", 0]);
        citation?.remove();
        expect(container.textContent?.replaceAll(/\s/g, "")).toBe(plain?.replaceAll(/\s/g, ""));
        cleanup();
      }),
      { numRuns: 150 },
    );
  }, 60_000);
});

describe("a text and its source", () => {
  it("are matched past escapes and indentation", () => {
    expect(offsetInSource("a*b", "a\\*b", 2)).toBe(3);
    expect(lengthBefore("a*b", "a\\*b", 3)).toBe(2);
    expect(lengthBefore("a\nb c", "a\n> b c", 5)).toBe(3);
  });

  it("are matched to the end where they differ", () => {
    expect(offsetInSource("a<b", "a&lt;b", 2)).toBe(6);
    expect(lengthBefore("a<b", "a&lt;b", 2)).toBe(3);
  });
});
