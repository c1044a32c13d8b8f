import { describe, expect, it } from "vitest";
import { parseDiff } from "./diff";

const DIFF = `diff --git a/x.py b/x.py
index 1..2 100644
--- a/x.py
+++ b/x.py
@@ -1,4 +1,4 @@ def f():
 one
-two
+TWO
 three
 four
@@ -10,2 +10,3 @@
 ten
+ten and a half
 eleven
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-bye
\\ No newline at end of file
`;

describe("a unified diff", () => {
  it("is read into files, hunks and numbered lines", () => {
    const [first, second, ...none] = parseDiff(DIFF);
    expect(none).toEqual([]);
    expect(first).toMatchObject({ path: "x.py", added: 2, removed: 1 });
    expect(first?.hunks).toHaveLength(2);
    expect(first?.hunks[0]?.lines.slice(0, 3)).toEqual([
      { kind: "same", text: "one", before: 1, after: 1 },
      { kind: "del", text: "two", before: 2, after: null },
      { kind: "add", text: "TWO", before: null, after: 2 },
    ]);
    expect(first?.hunks[1]?.lines[1]).toEqual({
      kind: "add",
      text: "ten and a half",
      before: null,
      after: 11,
    });
    expect(second).toMatchObject({ path: "gone.py", added: 0, removed: 1 });
    expect(second?.hunks[0]?.lines.at(-1)).toMatchObject({
      kind: "note",
      text: "No newline at end of file",
    });
  });

  it("does not take a removed line for the head of a file", () => {
    const [file] = parseDiff(
      "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new\n same\n",
    );
    expect(file).toMatchObject({ path: "q.sql", added: 1, removed: 1 });
    expect(file?.hunks[0]?.lines[0]).toMatchObject({ kind: "del", text: "-- old comment" });
  });

  it("takes the name that it is told when it has none", () => {
    expect(parseDiff("@@ -1 +1 @@\n-a\n+b", "named.txt")).toMatchObject([{ path: "named.txt" }]);
  });

  it("shows what there is of a diff that was cut", () => {
    const [file] = parseDiff("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n-two");
    expect(file?.hunks[0]?.lines).toHaveLength(2);
  });

  it("makes nothing of what is not one", () => expect(parseDiff("hello\nworld")).toEqual([]));
});
