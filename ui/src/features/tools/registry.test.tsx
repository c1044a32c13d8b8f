import { readFileSync } from "node:fs";
import { cleanup, render, screen } from "@testing-library/react";
import { Hammer } from "lucide-react";
import { afterEach, describe, expect, it } from "vitest";
import { ACTIONS, action, call, done } from "@/testing/fixtures";
import { partial } from "./call";
import { findRenderer, registerTool, type ToolDefinition } from "./registry";
import { rendererOf } from "./renderers";
import { ToolCard } from "./tool-card";
import { headline, sentence, tally } from "./words";

afterEach(cleanup);

/** The tools that the server offers, from its generated reference. */
const SERVER_TOOLS = [
  ...readFileSync("../docs/reference/tools.md", "utf8").matchAll(/^## (\w+)$/gm),
].map(([, name = ""]) => name);

/** One definition per file in `renderers/`. */
const FILES = import.meta.glob<Record<string, ToolDefinition>>("./renderers/*.ts", { eager: true });

function Open({ tool, output }: { tool: string; output: string }) {
  return (
    <ToolCard
      call={done(tool, { material: "oak" }, output)}
      action={null}
      actions={null}
      index={0}
      isOpen
      onToggle={() => {}}
    />
  );
}

describe("known tools", () => {
  it("include those of the server", () => expect(SERVER_TOOLS.length).toBeGreaterThan(14));

  it.each([...SERVER_TOOLS, "web_search"])("%s has a renderer", (tool) => {
    expect(findRenderer(tool)).toBeDefined();
  });

  it("are registered, one file each", () => {
    for (const [file, module] of Object.entries(FILES)) {
      if (file.endsWith("/index.ts")) continue;
      const [definition, ...others] = Object.values(module);
      expect(others).toEqual([]);
      for (const name of definition?.match ?? [])
        expect(findRenderer(name)?.title, file).toBe(definition?.title);
    }
  });

  it("have bodies that load", async () => {
    for (const module of Object.values(FILES))
      for (const definition of Object.values(module))
        if (typeof definition !== "function" && definition.body !== undefined)
          expect((await definition.body()).default).toBeTypeOf("function");
  });

  it("a web search shows its query", () => {
    expect(sentence(done("web_search", { query: "tides in Lisbon" }, "ok"))).toBe(
      "Searched the web for tides in Lisbon, done",
    );
  });
});

describe("update_plan", () => {
  const steps = [
    { text: "Read the parser", status: "completed" },
    { text: "Mend it", status: "in_progress" },
    { text: "Rewrite it", status: "dropped" },
    { text: "Run the tests", status: "pending" },
    { text: 7 },
  ];

  it("names the progress and the present step", () => {
    expect(headline(done("update_plan", { steps }, "Plan updated."))).toEqual({
      verb: "Updated the plan",
      object: "1 of 3 done, now: Mend it",
    });
    expect(headline(call("update_plan", {}, { arguments: null, source: '{"st' })).object).toBe("");
  });

  it("shows each step with its status, and the note", async () => {
    const given = done("update_plan", { steps, note: "The tests were slow." }, "Plan updated.");
    render(
      <ToolCard call={given} action={null} actions={null} index={0} isOpen onToggle={() => {}} />,
    );
    const plan = await screen.findByRole("list", { name: "Plan" });
    expect([...plan.children].map((step) => step.textContent)).toEqual([
      "Read the parsercompleted",
      "Mend itin progress",
      "Rewrite itdropped",
      "Run the testspending",
    ]);
    expect(screen.getByText("The tests were slow.")).toBeDefined();
  });
});

describe("a tool without a renderer", () => {
  it("shows its name and its first argument", () => {
    const given = { place: "Lisbon", days: 3 };
    expect(headline(done("weather", given, ""))).toEqual({
      verb: "Used",
      object: "weather: Lisbon",
    });
  });

  it.each<[Record<string, unknown>, string]>([
    [{}, "weather"],
    [{ filter: { a: 1 }, days: 3 }, "weather: 3"],
    [{ filter: { a: 1 } }, 'weather: {"a":1}'],
    [{ text: "first\nsecond" }, "weather: first"],
    [{ dry_run: false }, "weather: false"],
    [{ none: null }, "weather"],
  ])("with %o: %s", (given, object) => {
    expect(headline(done("weather", given, "")).object).toBe(object);
  });

  it("shows the argument while it is being written, whatever its name", () => {
    const writing = (source: string) =>
      headline(call("weather", {}, { arguments: null, source, state: "writing" })).object;
    expect(writing("")).toBe("weather");
    expect(writing('{"pla')).toBe("weather");
    expect(writing('{"place": "Lis')).toBe("weather: Lis");
    expect(writing('{"a.b(": "x')).toBe("weather: x");
    expect(partial('{"a\\"b": "x"}', 'a"b')).toBe("x");
  });
});

describe("a new tool", () => {
  const carve: ToolDefinition = {
    match: ["carve"],
    icon: Hammer,
    title: (given) => ({ verb: "Carved", object: String(given.arguments?.material ?? "") }),
    tally: { kind: "carvings", label: (count) => `${count} carved` },
    body: async () => ({ default: ({ call }) => <p>Body of {call.tool}</p> }),
    actionRequired: { approval: () => <p>Hold the chisel</p> },
  };
  let remove = () => {};
  afterEach(() => remove());

  it("needs one definition and one registration", async () => {
    remove = registerTool(carve);
    const carved = done("carve", { material: "oak" }, "");
    expect(headline(carved)).toEqual({ verb: "Carved", object: "oak" });
    expect(tally([carved, done("execute", {}, "")], 0)).toEqual(["2 steps", "1 command, 1 carved"]);
    expect(rendererOf("carve").icon).toBe(Hammer);
    render(<Open tool="carve" output="chips" />);
    expect(await screen.findByText("Body of carve")).toBeDefined();
  });

  it("may ask in its own form", () => {
    remove = registerTool(carve);
    const waiting = call("carve", {}, { state: "awaiting" });
    render(
      <ToolCard
        call={waiting}
        action={action("approval", waiting.id)}
        actions={ACTIONS}
        index={0}
        isOpen={false}
        onToggle={() => {}}
      />,
    );
    expect(screen.getByText("Hold the chisel")).toBeDefined();
    expect(screen.queryByText("Approve once")).toBeNull();
  });

  it("whose body cannot be loaded shows arguments and result", async () => {
    remove = registerTool({ ...carve, body: () => Promise.reject(new Error("gone")) });
    render(<Open tool="carve" output="chips" />);
    expect(await screen.findByText("chips")).toBeDefined();
    expect(screen.getByText("Arguments")).toBeDefined();
  });
});
