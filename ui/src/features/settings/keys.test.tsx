import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { stubServer, WithQueries } from "@/testing/server";
import { Keys } from "./keys";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const PATH = "/api/v1/api-keys";
const KEY = {
  id: "key_1",
  user_id: "user_1",
  name: "program",
  prefix: "hfst_abcdef",
  scopes: ["read"],
  created_at: "2026-01-02T03:04:05Z",
  expires_at: null as string | null,
  revoked_at: null,
  last_used_at: null,
};
const day = (iso: string) => new Date(iso).toLocaleDateString();

it("a key shows when it ends, that it has ended, or that it never ends", async () => {
  const ends = ["2999-01-02T03:04:05Z", "2020-01-02T03:04:05Z", null];
  const data = ends.map((expires_at, place) => ({
    ...KEY,
    id: `key_${place}`,
    expires_at,
    last_used_at: "2026-01-02T03:04:05Z",
  }));
  stubServer({ [`GET ${PATH}`]: () => ({ body: { data, next_cursor: null } }) });
  render(<Keys search={{}} onSearch={() => {}} />, { wrapper: WithQueries });
  await screen.findByText(day("2999-01-02T03:04:05Z"));
  screen.getByText(`ended ${day("2020-01-02T03:04:05Z")}`);
  screen.getByText("never");
});

it("a new key is shown with its end", async () => {
  const made = { ...KEY, expires_at: "2999-01-02T03:04:05Z", secret: "hfst_secret" };
  stubServer({
    [`GET ${PATH}`]: () => ({ body: { data: [], next_cursor: null } }),
    [`POST ${PATH}`]: () => ({ status: 201, body: made }),
  });
  render(<Keys search={{}} onSearch={() => {}} />, { wrapper: WithQueries });
  fireEvent.change(await screen.findByLabelText("Key name"), { target: { value: "program" } });
  fireEvent.click(screen.getByRole("button", { name: "Create key" }));
  await screen.findByText("hfst_secret");
  expect(screen.getByRole("status").textContent).toContain(
    `The key ends on ${day("2999-01-02T03:04:05Z")}.`,
  );
});
