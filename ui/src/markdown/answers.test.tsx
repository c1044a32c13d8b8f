/**
 * Nothing of an answer is dropped: 200 answers, put together of the pieces in tests/golden/answers.
 * `§` and `¤` in a piece stand for a word that occurs once, in Latin and in Hebrew letters. What is
 * no word of an answer: addresses, labels of footnotes, names of entities and commands of TeX.
 */

import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { cleanup, render, waitFor } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import type { CitationMark } from "./citations";
import { Markdown } from "./markdown";

vi.mock("@/diagram/draw", () => ({ draw: () => Promise.resolve(null) }));
vi.mock("./highlight", () => ({ tokenize: () => Promise.reject(new Error("no colours")) }));

const FOLDER = resolve(process.cwd(), "../tests/golden/answers");
const PIECES = readdirSync(FOLDER).flatMap((name) =>
  readFileSync(`${FOLDER}/${name}`, "utf8").split(/\n?--8<--\n/),
);
const ANSWERS = 200;
const [LATIN, HEBREW] = ["bdfgklmnprstvz", "בגדזחטכלמנסעפצקרש"];

/** Of six letters and its own for each number. */
function word(number: number, letters: string): string {
  let [rest, made] = [number * 7919 + 1, ""];
  for (let at = 0; at < 6; at++) {
    made += letters[rest % letters.length] ?? "";
    rest = Math.floor(rest / letters.length);
  }
  return made;
}

function answer(number: number): string {
  let count = number * 1000;
  const chosen = [0, 1, 2, 3].slice(0, 1 + (number % 4)).map((place) => {
    const at = place === 0 ? number : number * (place * 2 + 5) + place * 17;
    return PIECES[at % PIECES.length] ?? "";
  });
  return chosen
    .join("\n\n")
    .replaceAll(/[§¤]/g, (letter) => word(count++, letter === "§" ? LATIN : HEBREW));
}

const NO_WORDS =
  /\]\([^)\n]*\)|\[\^[^\]\s]+\]|^ {0,3}\[[^\]\n]+\]: *\S+|&#?\w+;|\\(?:begin|end)\{\w+\}|\\[A-Za-z]+/gm;

function droppedOf(source: string, root: Element): string[] {
  for (const hidden of root.querySelectorAll(".katex-mathml")) hidden.remove();
  const seen = root.textContent ?? "";
  const words = source.replaceAll(NO_WORDS, " ").match(/\p{L}{3,}/gu) ?? [];
  return words.filter((each) => !seen.includes(each));
}

/** A number of a source every 40 characters. */
const marksIn = (source: string): CitationMark[] =>
  Array.from({ length: Math.floor(source.length / 40) }, (_, at) => ({
    ...{ at: (at + 1) * 40, number: (at % 9) + 1, title: "A source", url: "https://s.example" },
  }));

beforeAll(async () => {
  const { container } = render(<Markdown text="$x$" />);
  await waitFor(() => expect(container.querySelector(".katex")).not.toBeNull());
  cleanup();
});
afterEach(cleanup);

it.each(Array.from({ length: 10 }, (_, tenth) => tenth))(
  "every word of 200 answers is seen: %s",
  (tenth) => {
    const dropped = [];
    let formulas = 0;
    for (let number = tenth; number < ANSWERS; number += 10) {
      const source = answer(number);
      const { container, unmount } = render(<Markdown text={source} isLive={number % 4 > 1} />);
      formulas += container.querySelectorAll(".katex-html").length;
      dropped.push(...droppedOf(source, container).map((each) => `${number}: ${each}`));
      unmount();
    }
    expect(dropped).toEqual([]);
    expect(formulas).toBeGreaterThan(0);
  },
);

it("numbers of sources take no word away, wherever they stand", () => {
  const dropped = [];
  for (let number = 0; number < PIECES.length; number++) {
    const source = answer(number * 4);
    const { container, unmount } = render(<Markdown text={source} marks={marksIn(source)} />);
    for (const mark of container.querySelectorAll(".citation")) mark.remove();
    dropped.push(...droppedOf(source, container).map((each) => `${number * 4}: ${each}`));
    unmount();
  }
  expect(dropped).toEqual([]);
});
