import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { ModelCard } from "@/api/queries/models";
import { factsOf } from "./model-choices";
import { ModelPicker } from "./model-picker";

const LARGE: ModelCard = {
  vendor: "Anthropic",
  price: { input_micros: 3_000_000, output_micros: 15_000_000 },
  context_window: 1_000_000,
  images: true,
  documents: true,
  thinking: true,
  provider_tools: ["web_search"],
  simulated: false,
};
const SMALL: ModelCard = {
  vendor: "Ollama",
  price: null,
  context_window: null,
  images: false,
  documents: false,
  thinking: false,
  provider_tools: [],
  simulated: false,
};

afterEach(cleanup);

async function opened(chosen: string | null = null) {
  const onChoose = vi.fn();
  render(
    <ModelPicker
      models={["large", "small"]}
      cards={{ large: LARGE, small: SMALL }}
      chosen={chosen}
      standard="large"
      onChoose={onChoose}
    />,
  );
  fireEvent.click(screen.getByRole("button", { name: /^Model: / }));
  const list = await screen.findByRole("listbox");
  return { onChoose, list, field: screen.getByPlaceholderText("Search models") };
}

it("says who serves a model, its window, its price and what it can do", () => {
  expect(factsOf(LARGE)).toEqual([
    "Anthropic",
    "1M context",
    "$3.00 in, $15.00 out per 1M tokens",
    "Thinking",
    "Images",
    "PDF",
    "Web search",
  ]);
  expect(factsOf(SMALL)).toEqual(["Ollama"]);
  expect(factsOf(undefined)).toEqual([]);
});

it("is searched and chosen from by keyboard alone", async () => {
  const { onChoose, list, field } = await opened();
  expect(document.activeElement).toBe(field);
  expect(within(list).getAllByRole("option")).toHaveLength(3);
  fireEvent.change(field, { target: { value: "ollama" } });
  expect(
    within(list)
      .getAllByRole("option")
      .map((one) => one.textContent),
  ).toEqual(["smallOllama"]);
  fireEvent.keyDown(field, { key: "Enter" });
  expect(onChoose.mock.calls).toEqual([["small"]]);
  expect(screen.queryByRole("listbox")).toBeNull();
});

it("goes back to the default, and marks what is chosen", async () => {
  const { onChoose, list } = await opened("small");
  const chosen = within(list).getByRole("img", { name: "Chosen" });
  expect(chosen.closest("[role=option]")?.textContent).toContain("small");
  fireEvent.click(within(list).getByText("Default"));
  expect(onChoose.mock.calls).toEqual([[null]]);
});

it("says so where nothing matches", async () => {
  const { field } = await opened();
  fireEvent.change(field, { target: { value: "zzz" } });
  expect(await screen.findByText("No matches")).toBeTruthy();
});
