/**
 * What people read belongs into `i18n/en`: no component and no module has a sentence of its own, also
 * not in a template literal.
 */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCES = "src/";
/** Attributes that people read or hear. */
const READ = new Set([
  "aria-label",
  "title",
  "tooltip",
  "placeholder",
  "label",
  "hint",
  "alt",
  "busy",
]);
const FOLDERS = [
  "app",
  "ui",
  "markdown",
  ...readdirSync(`${SOURCES}features`).map((name) => `features/${name}`),
];
/** Texts that look like sentences and are none. */
const ALLOWED = [
  "Shift Enter", // names of keys
  "Move to", // a mark of a patch
];

function isWords(text: string): boolean {
  return /[A-Za-z]{2}/.test(text);
}

/** Two words or more, the first with a capital letter. */
function isSentence(text: string): boolean {
  return /^[A-Z][a-z]+[^A-Z]* [a-z]/.test(text) && !ALLOWED.includes(text);
}

function parse(file: string): ts.SourceFile {
  const text = readFileSync(SOURCES + file, "utf8");
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
}

/** Texts between tags, and attributes whose value is a text. */
function inMarkup(node: ts.Node): string | null {
  if (ts.isJsxText(node) && isWords(node.text)) return node.text.trim();
  if (!ts.isJsxAttribute(node) || !READ.has(node.name.getText())) return null;
  const value = node.initializer;
  return value !== undefined && ts.isStringLiteral(value) && isWords(value.text)
    ? value.text
    : null;
}

/** Sentences in literals and template literals. Those of an `Error` are for developers. */
function inCode(node: ts.Node): string | null {
  if (ts.isNewExpression(node.parent) && node.parent.expression.getText() === "Error") return null;
  if (ts.isStringLiteralLike(node) && isSentence(node.text)) return node.text;
  if (ts.isTemplateExpression(node)) {
    const text =
      node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join("");
    return isSentence(text) || /^[A-Z][a-z]+:? …/.test(text) ? text : null;
  }
  return null;
}

function textsIn(folder: string, pattern: RegExp, find: (node: ts.Node) => string | null) {
  const found: string[] = [];
  for (const name of readdirSync(SOURCES + folder, { recursive: true, encoding: "utf8" })) {
    if (!pattern.test(name) || /\.test\.tsx?$/.test(name)) continue;
    const visit = (node: ts.Node): void => {
      const text = node.parent === undefined ? null : find(node);
      if (text !== null) found.push(`${folder}/${name}: ${text}`);
      ts.forEachChild(node, visit);
    };
    visit(parse(`${folder}/${name}`));
  }
  return found;
}

describe("strings outside the catalogue", () => {
  it.each(FOLDERS)("are none in %s", (folder) => {
    const found = textsIn(folder, /\.tsx?$/, (node) => inMarkup(node) ?? inCode(node));
    expect(found).toEqual([]);
  });

  it("are seen in template literals and in modules without markup", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    const code = 'const a = `Remove ${b}`; const c = "Try it again."; const d = "text-ui px-2";';
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      const text = node.parent === undefined ? null : inCode(node);
      if (text !== null) found.push(text);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile("a.ts", code, ts.ScriptTarget.Latest, true));
    expect(found).toEqual(["Remove …", "Try it again."]);
  });
});
