import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { ACTIONS, action, call, done } from "@/testing/fixtures";
import QuestionsBody from "./bodies/questions";
import { Question } from "./question";
import { answersOf, questionsOf } from "./questions";

afterEach(cleanup);

const WHICH = {
  question: "Which database?",
  options: [{ label: "PostgreSQL", detail: "As now." }, { label: "SQLite" }],
};
const WHERE = { question: "Where?", options: WHICH.options, multiple: true };
const WHY = { question: "Why?" };

function shown(given: Record<string, unknown>, tool = "ask_user") {
  const answer = vi.fn(ACTIONS.answer);
  const asked = call(tool, given);
  render(
    <Question call={asked} action={action("answer", asked.id)} actions={{ ...ACTIONS, answer }} />,
  );
  return {
    answer,
    sent: () => answer.mock.calls.map(([, output]) => output),
  };
}

const button = (name: string) => screen.getByRole("button", { name });
const radio = (name: RegExp | string) => screen.getByRole<HTMLInputElement>("radio", { name });
const write = (text: string) =>
  fireEvent.change(screen.getByRole("textbox"), { target: { value: text } });

it("the first option is chosen, and is what one press sends", () => {
  const { sent } = shown({ questions: [WHICH] });
  expect(radio(/PostgreSQL/).checked).toBe(true);
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual([{ answers: [{ chosen: ["PostgreSQL"], text: "" }] }]);
  expect(screen.getByText("Answer sent…")).toBeDefined();
});

it("own words take the place of an option, and an empty answer is not sent", () => {
  const { sent } = shown({ questions: [WHICH] });
  fireEvent.click(radio("In my own words"));
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual([]);
  write(" MariaDB ");
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual([{ answers: [{ chosen: [], text: "MariaDB" }] }]);
});

it("words that were given up for an option are not sent", () => {
  const { sent } = shown({ questions: [WHICH] });
  fireEvent.click(radio("In my own words"));
  write("MariaDB");
  fireEvent.click(radio(/SQLite/));
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual([{ answers: [{ chosen: ["SQLite"], text: "" }] }]);
});

it("several options may be chosen where the question says so, and words added", () => {
  const { sent } = shown({ questions: [WHERE] });
  const box = (name: RegExp | string) => screen.getByRole("checkbox", { name });
  fireEvent.click(box(/PostgreSQL/));
  fireEvent.click(box(/SQLite/));
  fireEvent.click(box(/PostgreSQL/));
  fireEvent.click(box("In my own words"));
  write("And a file.");
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual([{ answers: [{ chosen: ["SQLite"], text: "And a file." }] }]);
});

it("several questions are steps, the focus goes with them, and all answers go at once", () => {
  const { sent } = shown({ questions: [WHICH, WHY] });
  expect(screen.getByText("1 of 2")).toBeDefined();
  expect(document.activeElement).toBe(document.body);
  fireEvent.click(radio(/SQLite/));
  fireEvent.click(button("Next"));
  expect(document.activeElement).toBe(screen.getByRole("textbox", { name: "Why?" }));
  write("Because.");
  fireEvent.click(button("Back"));
  expect(document.activeElement).toBe(radio(/SQLite/));
  expect(sent()).toEqual([]);
  fireEvent.click(button("Next"));
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual([
    {
      answers: [
        { chosen: ["SQLite"], text: "" },
        { chosen: [], text: "Because." },
      ],
    },
  ]);
});

it("an answer that is refused leaves what was chosen, and says why", async () => {
  const { answer } = shown({ questions: [WHICH] });
  answer.mockRejectedValueOnce(new Error("The call is answered already."));
  fireEvent.click(radio(/SQLite/));
  fireEvent.click(button("Answer"));
  expect((await screen.findByRole("alert")).textContent).toBe("The call is answered already.");
  expect(radio(/SQLite/).checked).toBe(true);
});

it("a call of another tool is answered with text", () => {
  const { sent } = shown({ prompt: "Red or blue?" }, "ask_person");
  write("Blue");
  fireEvent.click(button("Answer"));
  expect(sent()).toEqual(["Blue"]);
});

it("arguments without a question are shown as they are", () => {
  shown({ colour: "red" }, "ask_person");
  expect(screen.getByText("colour")).toBeDefined();
  expect(screen.getByRole("textbox", { name: "Your answer" })).toBeDefined();
});

it("a reader who may not write sees the questions and no form", () => {
  const asked = call("ask_user", { questions: [WHICH, WHY] });
  render(<Question call={asked} action={action("answer", asked.id)} actions={null} />);
  expect(screen.getByText("Which database?")).toBeDefined();
  expect(screen.getByText("Why?")).toBeDefined();
  expect(screen.queryByRole("button")).toBeNull();
});

it("an answered call shows each question with its answer", () => {
  const answers = [{ question: "Which database?", chosen: ["SQLite"] }, { text: "Because." }];
  render(<QuestionsBody call={done("ask_user", { questions: [WHICH, WHY] }, { answers })} />);
  expect(screen.getByText("SQLite")).toBeDefined();
  expect(screen.getByText("Because.")).toBeDefined();
  expect(screen.queryByText("PostgreSQL")).toBeNull();
});

it("what a model wrote otherwise is left out", () => {
  expect(questionsOf(null)).toEqual([]);
  expect(questionsOf({ questions: "Why?" })).toEqual([]);
  const odd = [{ question: 1 }, { question: " A? ", options: [{ label: 2 }, "x", null] }, null];
  expect(questionsOf({ questions: odd })).toEqual([{ text: "A?", options: [], multiple: false }]);
  expect(answersOf("Blue")).toBeNull();
  expect(answersOf({ answers: [null, { chosen: [1, "A"], text: 2 }] })).toEqual([
    { chosen: [], text: "" },
    { chosen: ["A"], text: "" },
  ]);
});
