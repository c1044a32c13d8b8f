/** Rendering is pure: no ref is read or written in the body of a component or hook. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const FOLDERS = ["features/chat", "features/tools", "features/transcript", "markdown"];
/** Functions that call their argument while rendering. */
const CALLS_AT_ONCE = new Set(["useMemo", "useState", "map", "filter", "flatMap", "find", "some"]);

function isComponentOrHook(node: ts.Node): boolean {
  if (ts.isFunctionDeclaration(node)) return /^(?:[A-Z]|use[A-Z])/.test(node.name?.text ?? "");
  // memo(function Name() {})
  return ts.isFunctionExpression(node) && /^[A-Z]/.test(node.name?.text ?? "");
}

function runsWhileRendering(node: ts.Node): boolean {
  if (!ts.isFunctionLike(node)) return true;
  const { parent } = node;
  if (!ts.isCallExpression(parent)) return false;
  const { expression } = parent;
  const name = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
  return CALLS_AT_ONCE.has(name.getText());
}

function refsIn(name: string, text: string): string[] {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const visitBody = (node: ts.Node): void => {
    if (!runsWhileRendering(node)) return;
    if (ts.isPropertyAccessExpression(node) && node.name.text === "current")
      found.push(`${name}: ${node.getText()}`);
    ts.forEachChild(node, visitBody);
  };
  const visit = (node: ts.Node): void => {
    if (isComponentOrHook(node)) ts.forEachChild(node, visitBody);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe("refs while rendering", () => {
  it.each(FOLDERS)("are not used in %s", (folder) => {
    const files = readdirSync(`src/${folder}`, { recursive: true, encoding: "utf8" }).filter(
      (name) => /\.tsx?$/.test(name) && !name.includes(".test."),
    );
    expect(files.length).toBeGreaterThan(5);
    const found = files.flatMap((name) =>
      refsIn(`${folder}/${name}`, readFileSync(`src/${folder}/${name}`, "utf8")),
    );
    expect(found).toEqual([]);
  });

  it("would be found", () => {
    const hook = "function useX() { const r = useRef(0); r.current = 1; return r; }";
    expect(refsIn("x.ts", hook)).toEqual(["x.ts: r.current"]);
    expect(refsIn("x.ts", "function useX() { useMemo(() => r.current, []); }")).toHaveLength(1);
    expect(refsIn("x.ts", "function useX() { useEffect(() => { r.current = 1; }); }")).toEqual([]);
  });
});
