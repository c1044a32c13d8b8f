import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { stubServer, WithQueries } from "@/testing/server";
import { ProviderKeys } from "./provider-keys";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const PATH = "/api/v1/provider-keys";
const ACME = { provider_id: "prov_1", name: "Acme", vendor: "openai", is_allowed: true };

it("a key is saved, never shown, and deleted again", async () => {
  let set_at: string | null = null;
  const entry = () => ({ ...ACME, has_key: set_at !== null, set_at });
  const server = stubServer({
    [`GET ${PATH}`]: () => ({ body: { data: [entry()], next_cursor: null } }),
    [`PUT ${PATH}/prov_1`]: () => {
      set_at = "2026-01-02T03:04:05Z";
      return { body: entry() };
    },
    [`DELETE ${PATH}/prov_1`]: () => {
      set_at = null;
      return { status: 204, body: null };
    },
  });
  render(<ProviderKeys />, { wrapper: WithQueries });
  const field = await screen.findByLabelText<HTMLInputElement>("Your key for Acme");
  screen.getByText("openai · No key of yours");
  fireEvent.change(field, { target: { value: "sk-own" } });
  fireEvent.click(screen.getByRole("button", { name: "Save key" }));
  await screen.findByText(/Your key was set/);
  expect(field.value).toBe("");
  const [put] = server.made(`PUT ${PATH}/prov_1`);
  expect(await put?.request.clone().json()).toEqual({ key: "sk-own" });
  fireEvent.click(screen.getByRole("button", { name: "Delete your key for Acme" }));
  fireEvent.click(await screen.findByRole("button", { name: "Delete key" }));
  await waitFor(() => screen.getByText("openai · No key of yours"));
  expect(server.made(`DELETE ${PATH}/prov_1`)).toHaveLength(1);
});

it("a key that is no longer allowed is said to be unused, and can only be deleted", async () => {
  const forbidden = { ...ACME, is_allowed: false, has_key: true, set_at: "2026-01-02T03:04:05Z" };
  stubServer({ [`GET ${PATH}`]: () => ({ body: { data: [forbidden], next_cursor: null } }) });
  render(<ProviderKeys />, { wrapper: WithQueries });
  await screen.findByText(/no longer allows it: it is not used/);
  expect(screen.queryByLabelText("Your key for Acme")).toBeNull();
  screen.getByRole("button", { name: "Delete your key for Acme" });
});
