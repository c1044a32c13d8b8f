/** The questions of `ask_user`, and what a person answers to them. */
import type { Arguments } from "./call";

interface Option {
  label: string;
  detail: string;
}

export interface AskedQuestion {
  text: string;
  options: readonly Option[];
  multiple: boolean;
}

/** As the server takes it; an answered question has it in the output of the result. */
export interface Answer {
  chosen: readonly string[];
  text: string;
}

/** Empty while the arguments are being written; what is no question is left out. */
export function questionsOf(given: Arguments | null): AskedQuestion[] {
  return list(given?.questions).flatMap((each) => {
    const { question, options, multiple } = object(each);
    if (typeof question !== "string") return [];
    return [
      {
        text: question.trim(),
        options: list(options).flatMap(optionOf),
        multiple: multiple === true,
      },
    ];
  });
}

/** Of the output of a result; null where it has none of this form. */
export function answersOf(output: unknown): Answer[] | null {
  const { answers } = object(output);
  if (!Array.isArray(answers)) return null;
  return answers.map((each) => {
    const { chosen, text } = object(each);
    return {
      chosen: list(chosen).filter((label) => typeof label === "string"),
      text: typeof text === "string" ? text : "",
    };
  });
}

function optionOf(value: unknown): Option[] {
  const { label, detail } = object(value);
  if (typeof label !== "string") return [];
  return [{ label: label.trim(), detail: typeof detail === "string" ? detail.trim() : "" }];
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
