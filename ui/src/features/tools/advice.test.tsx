import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { LiveContext } from "@/features/chat/live";
import { call, done, failed } from "@/testing/fixtures";
import { adviceOf } from "./advice";
import AdviceBody from "./bodies/advice";
import type { Call } from "./call";
import { headline, sentence, tally } from "./words";

afterEach(cleanup);

const ASKED = { question: "Left or right?", intent: "I would go left." };
const ADVICE = {
  type: "advice",
  advice: "Go **left**.",
  model: "oracle",
  remaining_uses: 1,
  usage: null,
};

function shown(given: Call, live = "") {
  const preview = { attempt: 1, index: 1, parts: {}, outputs: { [given.id]: live } };
  const source = { subscribe: () => () => {}, preview: () => preview };
  render(
    <LiveContext value={source}>
      <AdviceBody call={given} />
    </LiveContext>,
  );
  return screen.getByRole("region", { name: "Advice" });
}

it("advice is prose, with its model and what is left", () => {
  const region = shown(done("advisor", ASKED, ADVICE));
  expect(region.querySelector("strong")?.textContent).toBe("left");
  expect(screen.getByText("oracle · 1 left in this turn")).toBeDefined();
  expect(screen.getByText("Left or right?")).toBeDefined();
  expect(screen.getByText("Intended: I would go left.")).toBeDefined();
});

it("while it is asked, what has come is shown, and before that a line", () => {
  const running = call("advisor", ASKED, { state: "running" });
  expect(shown(running).textContent).toBe("The advisor is thinking…");
  cleanup();
  const region = shown(running, "Go **le");
  expect(region.textContent).toBe("Go le");
  expect(region.getAttribute("aria-busy")).toBe("true");
});

it("a limit and a failure say so in different words and looks", () => {
  const none = { model: "oracle", remaining_uses: 0, usage: null };
  const message = "Decide without it.";
  const limit = failed("advisor", ASKED, { ...none, type: "limit_reached", message });
  const error = failed("advisor", ASKED, { ...none, type: "error", message });
  const looks = [limit, error].map((each) => {
    const { className, textContent } = shown(each);
    cleanup();
    return { className, textContent };
  });
  expect(looks.map((each) => each.textContent)).toEqual([
    `Advisor limit reached${message}`,
    `No advice${message}`,
  ]);
  expect(looks[0]?.className).not.toBe(looks[1]?.className);
  expect([limit, error].map((each) => headline(each).verb)).toEqual([
    "Advisor limit reached",
    "No advice",
  ]);
});

it("a result in another form has its own words", () => {
  const alone = "Nothing was run: advisor must be called alone.";
  expect(adviceOf(failed("advisor", ASKED, alone))).toMatchObject({ kind: "error", words: alone });
  expect(adviceOf(failed("advisor", ASKED, 7))).toMatchObject({ kind: "error", words: "" });
});

it("the card says what was asked, and a folded run counts it", () => {
  const asked = done("advisor", ASKED, ADVICE);
  expect(sentence(asked)).toBe("Asked the advisor Left or right?, done");
  expect(tally([asked], 0)).toContain("1 question to the advisor");
});
