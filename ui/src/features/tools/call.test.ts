import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { action, call, done, ended, failed, result } from "@/testing/fixtures";
import { numberedLines } from "./bodies/file";
import { type CallState, partial, shownArgument, stateOf } from "./call";
import { editsOf } from "./edits";
import { outputImages, outputText } from "./results";
import { aside, headline, sentence, tally } from "./words";

/** Also what is no character by itself. */
const ANY = fc.nat(0xffff).map((code) => String.fromCharCode(code));

describe("an argument that a person decides about", () => {
  const wire =
    '{"arguments":{"account":9007199254740993,"note":"rent","amount":-0.0,"count":3},' +
    '"exact_arguments":{"account":"9007199254740993","amount":"-0.0"}}';
  const part = JSON.parse(wire);

  it("is shown as the text of the server where JavaScript has another number", () => {
    expect(String(part.arguments.account)).toBe("9007199254740992");
    const shown = (name: string) => shownArgument(name, part.arguments[name], part.exact_arguments);
    expect(shown("account")).toBe("9007199254740993");
    expect(shown("amount")).toBe("-0.0");
    expect(shown("count")).toBe("3");
    expect(shown("note")).toBe("rent");
  });

  it("is not looked up in what every object has", () => {
    expect(shownArgument("toString", { a: 1 }, {})).toBe('{\n  "a": 1\n}');
  });
});

describe("where a call stands", () => {
  it.each<[Parameters<typeof result>[3], unknown, CallState]>([
    [{}, "fine", "done"],
    [{}, "exit code 2", "done"],
    [{ exit_code: 0 }, "", "done"],
    [{ exit_code: 2 }, "", "failed"],
    [{ signal: "KILL" }, "", "failed"],
    [{ process_id: "p1" }, "", "done"],
    [{ is_error: true }, "no such file", "failed"],
    [{ is_error: true, timed_out: true }, "", "timed out"],
    [{ is_error: true, synthetic_reason: "interrupted" }, "", "cancelled"],
    [{ is_error: true, synthetic_reason: "superseded" }, "", "cancelled"],
    [{ is_error: true, synthetic_reason: "denied" }, "", "denied"],
    [{ is_error: true, synthetic_reason: "expired" }, "", "timed out"],
    [{ is_error: true, synthetic_reason: "cut_off" }, "", "not run"],
    [{ is_error: true, synthetic_reason: "unknown_outcome" }, "", "unknown"],
  ])("with %o and %o: %s", (more, output, state) => {
    expect(stateOf("c", result("c", "execute", output, more), null, false)).toBe(state);
  });

  it("runs until there is a result, unless somebody is waited for", () => {
    expect(stateOf("c", null, null, false)).toBe("running");
    expect(stateOf("c", null, action("approval", "c"), false)).toBe("awaiting");
    expect(stateOf("c", null, action("approval", "other"), false)).toBe("running");
  });

  it("is unknown when the turn is over and nothing was said about it", () => {
    expect(stateOf("c", null, null, true)).toBe("unknown");
  });
});

describe("the text of a result", () => {
  const text = (output: unknown, more = {}) => outputText(result("c", "execute", output, more));

  it("is the output without the tool's summary", () => {
    expect(text("exit code 1 (3.2 s)\n\nFAILED x", { summary_lines: 2 })).toBe("FAILED x");
    expect(text("exit code 0 (0.1 s), no output", { summary_lines: 1 })).toBe("");
    expect(text("exit code 1 (3.2 s)\n\nFAILED x")).toBe("exit code 1 (3.2 s)\n\nFAILED x");
  });

  it("is taken from a named field, or shown as JSON", () => {
    expect(text({ code: 1, output: "out" })).toBe("out");
    expect(text([1, 2])).toBe("[\n  1,\n  2\n]");
    expect(text(null)).toBe("");
    expect(outputText(null)).toBe("");
  });

  it("is the words among typed blocks, and never the base64 of an image", () => {
    const image = { type: "image", mimeType: "image/png", data: "iVBORw==" };
    const output = { content: [{ type: "text", text: "a.png: image/png" }, image] };
    expect(text(output)).toBe("a.png: image/png");
    expect(outputImages(result("c", "read_file", output))).toEqual([
      { mediaType: "image/png", base64: "iVBORw==" },
    ]);
    expect(outputImages(result("c", "read_file", "text"))).toEqual([]);
    expect(text({ content: "plain" })).toBe('{\n  "content": "plain"\n}');
  });

  it("has no line numbers where the page shows its own", () => {
    expect(numberedLines("     9\ta\n    10\t\n    11\t\tb")).toEqual({
      code: "a\n\n\tb",
      firstLine: 9,
    });
    expect(numberedLines("1\ta\nplain\n")).toEqual({ code: "1\ta\nplain", firstLine: 1 });
  });
});

describe("arguments that are being written", () => {
  it("are shown as far as they go, at every moment", () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY, maxLength: 12 }), (command) => {
        const whole = JSON.stringify({ command });
        // A pair of surrogates may be cut between its escapes: then half of it is there.
        const isPrefix = (end: number) =>
          command.startsWith(partial(whole.slice(0, end), "command"));
        expect([...whole].every((_, end) => isPrefix(end))).toBe(true);
        expect(partial(whole, "command")).toBe(command);
      }),
    );
  }, 30_000);
});

describe("a call in words", () => {
  const pytest = { command: "pytest -q\necho done" };

  it("says what is done, what was done and what is wanted", () => {
    expect(headline(call("execute", pytest, { state: "running" }))).toEqual({
      verb: "Running",
      object: "pytest -q",
    });
    expect(headline(done("execute", pytest, ""))).toEqual({ verb: "Ran", object: "pytest -q" });
    expect(headline(call("execute", pytest, { state: "awaiting" })).verb).toBe("Wants to run");
    expect(headline(call("execute", pytest, { state: "denied" })).verb).toBe("Wanted to run");
    expect(headline(call("execute", pytest, { state: "unknown" })).verb).toBe("Wanted to run");
  });

  it("says how it ended only where that is news", () => {
    expect(aside(done("execute", pytest, "", {}, { exit_code: 0, duration_ms: 20 }))).toEqual([]);
    expect(sentence(done("execute", pytest, "", { state: "failed" }, ended(1, 3200)))).toBe(
      "Ran pytest -q, failed, exit 1, 3 s",
    );
    expect(aside(done("execute", pytest, "", {}, { process_id: "p3" }))).toEqual([
      "running in background (p3)",
    ]);
  });

  it("names a tool that it does not know", () => {
    expect(headline(done("weather", {}, ""))).toEqual({ verb: "Used", object: "weather" });
  });

  it("counts a run by kinds", () => {
    const calls = [
      done("read_file", {}, ""),
      done("read_file", {}, ""),
      done("execute", {}, ""),
      failed("edit_file", {}, ""),
      done("weather", {}, ""),
    ];
    expect(tally(calls, 48_000)).toEqual([
      "5 steps",
      "2 files read, 1 command, 1 edit, 1 other",
      "1 failed",
      "48 s",
    ]);
  });
});

describe("an edit", () => {
  const change = { path: "a.py", edits: [{ old_string: "x\ny", new_string: "z" }] };

  it("is shown whole as the result has it, not as the model was told", () => {
    const diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+z\n";
    const told = done("edit_file", change, "Edited a.py: 1 replacement (line 1).", {}, { diff });
    expect(editsOf(told)).toEqual([{ path: "a.py", diff }]);
  });

  it("is made from what was asked when the result has none, or there is none yet", () => {
    expect(editsOf(call("edit_file", change))).toEqual([
      { path: "a.py", diff: "@@ -1,2 +1,1 @@\n-x\n-y\n+z" },
    ]);
    expect(editsOf(done("write_file", { path: "n.md", content: "hi\n" }, "ok"))).toEqual([
      { path: "n.md", diff: "@@ -1,0 +1,1 @@\n+hi" },
    ]);
  });

  it("is read from a patch", () => {
    const patch =
      "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n x\n-y\n+z\n*** Add File: b.py\n+hi\n" +
      "*** Delete File: c.py\n*** Update File: d.py\n*** Move to: e.py\n*** End Patch\n";
    const asked = call("apply_patch", { patch });
    expect(editsOf(asked)).toEqual([
      { path: "a.py", diff: "@@ -1,2 +1,2 @@\n x\n-y\n+z" },
      { path: "b.py", diff: "@@ -1,0 +1,1 @@\n+hi" },
      { path: "c.py", becomes: null, diff: "" },
      { path: "d.py", becomes: "e.py", diff: "" },
    ]);
    expect(headline(asked).object).toBe("a.py and 3 other files");
    const diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-y\n+z\n";
    expect(editsOf(done("apply_patch", { patch }, "ok", {}, { diff }))).toEqual([
      { path: "c.py", becomes: null, diff: "" },
      { path: "d.py", becomes: "e.py", diff: "" },
      { path: "", diff },
    ]);
  });

  it("is nothing when it makes no sense", () =>
    expect(editsOf(call("edit_file", { edits: "x" }))).toEqual([]));
});
