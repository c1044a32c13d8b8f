import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { definitionsPrefix, extend, NOTHING, split } from "./blocks";

const texts = (text: string) =>
  split(text).blocks.map((block) =>
    block.kind === "fence" ? `${block.language}|${block.code}` : block.text,
  );

describe("the split", () => {
  it("parts paragraphs at blank lines", () => {
    expect(texts("one\nstill one\n\n\ntwo\n")).toEqual(["one\nstill one", "two"]);
  });

  it("keeps a loose list together, and what is indented under it", () => {
    expect(texts("- a\n\n- b\n\n  more of b\n\nafter")).toEqual([
      "- a\n\n- b\n\n  more of b",
      "after",
    ]);
  });

  it("takes a fence out of the prose around it", () => {
    expect(texts("before\n```py\nx = 1\n\ny = 2\n```\nafter")).toEqual([
      "before",
      "py|x = 1\n\ny = 2",
      "after",
    ]);
  });

  it("leaves a fence in a list where it is", () => {
    const text = "- a\n  ```\n  code\n\n  more\n  ```\n- b";
    expect(texts(text)).toEqual([text]);
  });

  it("knows when a fence is not closed", () => {
    expect(split("```js\nlet a").blocks).toEqual([
      { kind: "fence", language: "js", title: "", code: "let a", closed: false },
    ]);
    expect(split("```js\nlet a\n```").blocks).toMatchObject([{ closed: true }]);
  });

  it("closes a fence only with a mark as long as its own", () => {
    expect(texts("````md\n```\ninner\n```\n````\nafter")).toEqual(["md|```\ninner\n```", "after"]);
    expect(texts("~~~\n```\n~~~")).toEqual(["|```"]);
  });

  it("does not take inline code for a fence", () => {
    expect(texts("```a``` and more\n\nnext")).toEqual(["```a``` and more", "next"]);
  });

  it("lets a block know the addresses that are defined in another", () => {
    const { blocks, definitions } = split("see [it]\n\n[it]: https://example.com\n");
    expect(blocks[0]).toEqual({ kind: "prose", text: "see [it]" });
    expect(definitionsPrefix("see [it]", definitions)).toBe("[it]: https://example.com\n\n");
    expect(definitionsPrefix("no link", definitions)).toBe("");
  });

  const kinds = (text: string) => split(text).blocks.map(({ kind }) => kind);

  it.each(["$$\na\n\nb\n$$", "$$ a\n\nb $$", "\\[\na\n\nb\n\\]", "$$a$$"])(
    "keeps a formula whole: %j",
    (formula) => {
      expect(split(`before\n${formula}\nafter`).blocks).toEqual([
        { kind: "prose", text: "before" },
        { kind: "verbatim", text: formula },
        { kind: "prose", text: "after" },
      ]);
    },
  );

  it("takes a formula inside a line for prose", () => {
    expect(kinds("$$a$$ and more\n\nnext")).toEqual(["prose", "prose"]);
  });

  it("ends a formula that is never closed", () => {
    expect(kinds(`$$\n${"x\n".repeat(3000)}\nafter`)).toEqual(["verbatim", "prose"]);
  });

  it("keeps a container whole, with the code in it", () => {
    const text = "::::note\none\n\n```\n::::\n```\n\n:::\n\ntwo\n::::";
    expect(texts(`${text}\nafter`)).toEqual([text, "after"]);
  });

  it("does not take a rule of colons for a container", () => {
    expect(texts(":::\n\nafter")).toEqual([":::", "after"]);
  });

  it("takes footnotes out of the prose around them, with their indented lines", () => {
    const { blocks, footnotes } = split(
      "see[^B] and[^a]\n[^a]: one\nmore\n\n    still one\n\nafter\n[^b]: two\n# head",
    );
    expect(blocks.map(({ kind }) => kind)).toEqual([
      "prose",
      "footnote",
      "prose",
      "footnote",
      "prose",
    ]);
    expect(footnotes).toEqual([
      { label: "b", text: "two" },
      { label: "a", text: "one\nmore\n\nstill one" },
    ]);
  });

  it("keeps every definition of a label", () => {
    expect(split("[^a]: one\n\n[^A]: two").footnotes).toEqual([{ label: "a", text: "one\n\ntwo" }]);
  });
});

describe("the split of what grows", () => {
  const piece = fc.constantFrom(
    "word",
    "\n",
    "\n\n",
    "- ",
    "1",
    ". ",
    "```",
    "```py\n",
    "~~~\n",
    "  ",
    "    ",
    "> ",
    "|",
    "[a]: b",
    "[^a]: ",
    "[^a]",
    "$$",
    "\\[",
    "\\]",
    ":::",
    "::::",
    "#",
    " ",
  );

  it("is at every moment what it would be if it had come at once", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        let text = "";
        let grown = NOTHING;
        for (const each of pieces) {
          text += each;
          grown = extend(grown, text);
          expect(grown).toEqual(split(text));
        }
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  it("takes back a boundary that was made by half a line", () => {
    const before = split("first\n\n- a\n\n1");
    expect(before.blocks).toHaveLength(3);
    expect(extend(before, "first\n\n- a\n\n1. b").blocks).toEqual(
      split("first\n\n- a\n\n1. b").blocks,
    );
  });

  it("starts afresh when the text is another", () => {
    expect(extend(split("one\n\ntwo\n\nthree"), "other").blocks).toEqual([
      { kind: "prose", text: "other" },
    ]);
  });

  it("keeps the closed blocks as they are, so that nothing of them is drawn again", () => {
    const before = split("one\n\ntwo\n\nthree\n\nfour");
    const after = extend(before, `${before.text} and more`);
    expect(after.blocks[0]).toBe(before.blocks[0]);
    expect(after.blocks[1]).toBe(before.blocks[1]);
  });
});
