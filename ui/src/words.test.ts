/** Sentences belong into `words.ts`: those of the shell are all there, those of the parts become fewer. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCES = "src/";
/** Attributes that people read or hear. */
const READ = new Set(["aria-label", "title", "placeholder", "label", "hint", "alt", "busy"]);
/** As many as there were when this was written; whoever moves some writes down how many are left. */
const IN_PARTS = 77;

function isWords(text: string): boolean {
  return /[A-Za-z]{2}/.test(text);
}

/** Texts between tags, and attributes whose value is a text. */
function sentencesIn(file: string): string[] {
  const found: string[] = [];
  const source = readFileSync(SOURCES + file, "utf8");
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && isWords(node.text)) found.push(`${file}: ${node.text.trim()}`);
    if (ts.isJsxAttribute(node) && READ.has(node.name.getText())) {
      const value = node.initializer;
      if (value !== undefined && ts.isStringLiteral(value) && isWords(value.text))
        found.push(`${file}: ${value.text}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return found;
}

function sentencesOf(folder: string): string[] {
  return readdirSync(SOURCES + folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".tsx") && !name.endsWith(".test.tsx"))
    .flatMap((name) => sentencesIn(`${folder}/${name}`));
}

describe("sentences in components", () => {
  it.each(["app", "kit"])("are none in %s", (folder) => {
    expect(sentencesOf(folder)).toEqual([]);
  });

  it("become fewer in parts", () => {
    expect(sentencesOf("parts")).toHaveLength(IN_PARTS);
  });
});
