import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { action, call, done, failed, result } from "@/gallery/fixtures";
import { type CallState, partial, shownArgument, stateOf } from "./call";
import { editsOf } from "./edits";
import { readLines, readResult } from "./results";
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
    [{}, "exit code 0 after 1.0 s\nok", "done"],
    [{}, "exit code 2 after 1.0 s, no output", "failed"],
    [{}, "ended by signal TERM", "failed"],
    [{}, { exit_code: 0, output: "" }, "done"],
    [{}, { exit_code: 2, output: "" }, "failed"],
    [{}, { exit_code: null, signal: "KILL", output: "" }, "failed"],
    [{ failed: true }, "no such file", "failed"],
    [{ failed: true }, "The tool was stopped: it did not finish within 5 seconds.", "timed out"],
    [{ failed: true, synthetic: "interrupted" }, "", "cancelled"],
    [{ failed: true, synthetic: "superseded" }, "", "cancelled"],
    [{ failed: true, synthetic: "denied" }, "", "denied"],
    [{ failed: true, synthetic: "expired" }, "", "timed out"],
    [{ failed: true, synthetic: "cut_off" }, "", "not run"],
    [{ failed: true, synthetic: "unknown_outcome" }, "", "unknown"],
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

describe("what a result says", () => {
  const ran = (output: unknown) => readResult({ tool: "execute", output });

  it("is read from the line that our tools begin with", () => {
    expect(ran("exit code 1 after 3.2 s\nFAILED x")).toMatchObject({
      exitCode: 1,
      took: "3.2 s",
      text: "FAILED x",
    });
    expect(ran("exit code 0 after 0.1 s, no output")).toMatchObject({ exitCode: 0, text: "" });
    expect(ran("ended by signal KILL after 2 min (out of memory)\nso far")).toMatchObject({
      signal: "KILL",
      took: "2 min",
      text: "so far",
    });
    expect(ran("started in the background as process p3\nready")).toMatchObject({
      process: "p3",
      text: "ready",
    });
    expect(
      ran("still running after 60 s as process p4. It goes on: wait. Output so far:\na").process,
    ).toBe("p4");
  });

  it("is not looked for in what other tools say", () => {
    expect(readResult({ tool: "read_file", output: "exit code 1\n" })).toMatchObject({
      exitCode: null,
    });
    expect(ran("my exit code 1").exitCode).toBeNull();
  });

  it("is read from fields, or shown as it is", () => {
    expect(ran({ exit_code: 1, output: "out" })).toMatchObject({ text: "out", exitCode: 1 });
    expect(ran({ process: "p3", output: "so far" }).process).toBe("p3");
    expect(ran([1, 2]).text).toBe("[\n  1,\n  2\n]");
    expect(readResult(null).text).toBe("");
  });

  it("knows which lines of a file were read", () => {
    expect(
      readLines("a.py: lines 10 to 11 of 30\nx\ny\n[more: read_file with first_line=12]"),
    ).toEqual({
      text: "x\ny",
      firstLine: 10,
      note: "Lines 10 to 11 of 30",
    });
    expect(readLines("a.py: lines 1 to 2 of 2\nx\ny")).toEqual({
      text: "x\ny",
      firstLine: 1,
      note: "",
    });
    expect(readLines("no head")).toEqual({ text: "no head", firstLine: 1, note: "" });
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
    expect(aside(done("execute", pytest, { exit_code: 0, output: "" }))).toEqual([]);
    expect(
      sentence(done("execute", pytest, { exit_code: 1, output: "" }, { state: "failed" })),
    ).toBe("Ran pytest -q, failed, exit 1");
    expect(aside(done("execute", pytest, { process: "p3", output: "" }))).toEqual([
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
      failed("edit_files", {}, ""),
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
  const change = { files: [{ path: "a.py", changes: [{ old: "x\ny", new: "z" }] }] };

  it("is shown as the result tells it", () => {
    const told = done("edit_files", change, {
      files: [{ path: "a.py", diff: "@@ -1 +1 @@\n-x\n+z" }],
    });
    expect(editsOf(told)).toEqual([{ path: "a.py", diff: "@@ -1 +1 @@\n-x\n+z" }]);
  });

  it("is made from what was asked when the result tells nothing, or there is none yet", () => {
    expect(editsOf(call("edit_files", change))).toEqual([
      { path: "a.py", diff: "@@ -1,2 +1,1 @@\n-x\n-y\n+z" },
    ]);
    expect(editsOf(done("write_file", { path: "n.md", text: "hi\n" }, "ok"))).toEqual([
      { path: "n.md", diff: "@@ -1,0 +1,1 @@\n+hi" },
    ]);
  });

  it("is nothing when it makes no sense", () =>
    expect(editsOf(call("edit_files", { files: "x" }))).toEqual([]));
});
