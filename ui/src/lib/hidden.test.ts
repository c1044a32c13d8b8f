import fc from "fast-check";
import { expect, it } from "vitest";
import { revealed } from "./hidden";

/** Also what is no character by itself. */
const ANY = fc.nat(0xffff).map((code) => String.fromCharCode(code));

it.each([
  ["\u202E", "U+202E"],
  ["\u200B", "U+200B"],
  ["\u0007", "U+0007"],
  ["\u00A0", "U+00A0"],
  ["\u{E0041}", "U+E0041"],
  ["\r", "U+000D"],
])("%j is shown as %s", (character, code) => {
  expect(revealed(`a${character}b`)).toEqual([
    { text: "a", code: null },
    { text: character, code },
    { text: "b", code: null },
  ]);
});

it("leaves lines, tabs and letters of all scripts alone", () => {
  const plain = "ls -l\n\tgrüße עברית 日本語 👍";
  expect(revealed(plain)).toEqual([{ text: plain, code: null }]);
});

it("loses nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: ANY, maxLength: 30 }), (text) => {
      expect(
        revealed(text)
          .map((piece) => piece.text)
          .join(""),
      ).toBe(text);
    }),
  );
}, 30_000);
