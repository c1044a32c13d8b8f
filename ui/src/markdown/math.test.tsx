/** Maths that KaTeX typesets, and maths that it must not. */
import { cleanup, render, waitFor } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Markdown } from "./markdown";
import { typeset } from "./plugins/typeset";

vi.mock("./highlight", () => ({ tokenize: () => Promise.reject(new Error("no colours")) }));

afterEach(cleanup);

/** What a reader sees: formulas have a second form for screen readers. */
function seen(root: Element): string {
  const copy = root.cloneNode(true) as Element;
  for (const hidden of copy.querySelectorAll(".katex-mathml")) hidden.remove();
  return copy.textContent ?? "";
}

/** Drawn after KaTeX has come. */
async function drawn(text: string): Promise<Element> {
  const { container } = render(<Markdown text={`$q$\n\n${text}`} />);
  await waitFor(() => expect(container.querySelector(".katex")).not.toBeNull());
  container.querySelector("p")?.remove();
  return container;
}

describe("a formula is typeset", () => {
  it.each([
    ["$a*b*c$", "a∗b∗c"],
    ["\\(x_1 + y_1\\)", "x1​+y1​"],
    ["in a line $$a^2$$ of words", "in a line a2 of words"],
    ["$$\n\\frac{a}{b}\n$$", "ba​"],
    ["\\[\nx^2\n\\]", "x2"],
    ["- item\n\n  \\[\n  x\n  - y\n  \\]", "x−y"],
    ["> $$\n> a > b\n> $$", "a>b"],
    ["| a | b |\n| - | - |\n| $x|y$ | two |", "x∣y"],
    ["**$x$**y", "xy"],
  ])("%j", async (source, words) => {
    const root = await drawn(source);
    expect(root.querySelectorAll(".katex-html")).toHaveLength(1);
    expect(seen(root).replaceAll(/[\s\u200B]+/g, "")).toContain(
      words.replaceAll(/[\s\u200B]+/g, ""),
    );
    expect(root.textContent).not.toMatch(/[\uFDD0\uFDD1]/);
  });

  it("is a block where it stands alone, and can be reached by key", async () => {
    const root = await drawn("$$x$$");
    expect(root.querySelector(".formula.display")?.getAttribute("tabindex")).toBe("0");
    expect((await drawn("a $x$ b")).querySelector(".formula.display")).toBeNull();
  });

  it("keeps the numbers of sources behind it", async () => {
    const mark = { at: "see $x$".length, number: 1, title: "S", url: "https://s.example" };
    const { container } = render(<Markdown text="see $x$ there" marks={[mark]} />);
    await waitFor(() => expect(container.querySelector(".katex")).not.toBeNull());
    expect(seen(container)).toBe("see x1 there");
  });
});

describe("a source is shown as it was written if", () => {
  it.each([
    ["KaTeX does not know it", "$$\n\\nonsense{words}\n$$"],
    ["it is never closed", "$$\n\\frac{a}{b}"],
    ["words follow its end", "$$\nx\n$$ and words"],
    ["it has a comment", "$$\nx % words\n$$"],
    ["it has a phantom", "$\\phantom{words} x$"],
    ["it defines a macro", "$\\def\\a{words} x$"],
    ["it moves text over other text", "$x \\kern-9em words$"],
    ["it asks for a link", "$\\href{words}{x}$"],
    ["it asks for a picture", "$\\includegraphics{words.png}$"],
    ["an argument is missing", "$\\overline".repeat(2)],
    ["it is money", "costs $5, or US$ ten"],
    ["it is money with words", "from $5 a month to US$, or so"],
  ])("%s", async (_why, source) => {
    const root = await drawn(source);
    expect(root.querySelector(".katex")).toBeNull();
    expect(root.textContent).toBe(source);
  });
});

it.each([
  ["    $a*b*$", "$a*b*$"],
  ["<div>\n$a*b*$\n</div>", "<div>\n$a*b*$\n</div>"],
  ["`$a*b*$`", "$a*b*$"],
])("maths in code and in raw HTML is no maths: %j", async (source, words) => {
  const root = await drawn(source);
  expect(root.querySelector(".katex")).toBeNull();
  expect(root.textContent).toContain(words);
});

it("no formula brings a style, a handler or an address as text", () => {
  for (const tex of ["\\htmlStyle{color:red}{x}", "\\htmlData{a=b}{x}", "\\url{https://e.example}"])
    expect(typeset(tex, false)).toBeNull();
  expect(typeset("\\def\\a{\\a\\a}\\a", false)).toBeNull();
});

it("a formula and a footnote stand side by side", async () => {
  const root = await drawn("word[^n] and $x$\n\n[^n]: a note");
  expect(seen(root)).toContain("word1 and x");
  expect(seen(root)).toContain("a note");
});
