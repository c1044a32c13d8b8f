import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { stubServer, WithQueries } from "@/testing/server";
import { SimulatorBar } from "./simulator-bar";

const SIMULATOR = {
  id: "simulator",
  is_default: true,
  context_window: 200_000,
  output_max: 64_000,
  efforts: [],
  provider_tools: [],
  web: false,
  simulated: true,
};

afterEach(cleanup);

async function shown(role: string, models: readonly object[]) {
  const server = stubServer({
    "GET /api/v1/me": () => ({ body: { user: { role } } }),
    "GET /api/v1/models": () => ({ body: { data: models, next_cursor: null } }),
  });
  const history = createMemoryHistory();
  const router = createRouter({
    history,
    routeTree: createRootRoute({ component: () => <SimulatorBar besideButton={false} /> }),
  });
  render(
    <WithQueries>
      <RouterProvider router={router} />
    </WithQueries>,
  );
  await expect.poll(() => server.made("GET /api/v1/me").length).toBe(1);
  return server;
}

it("tells an administrator where to add a model", async () => {
  await shown("admin", [SIMULATOR]);
  const link = await screen.findByRole("link", { name: "Add a model" });
  expect(link.getAttribute("href")).toBe("/admin/models");
});

it("says nothing once there is a real model, and nothing to members", async () => {
  const server = await shown("admin", [SIMULATOR, { ...SIMULATOR, id: "gpt", simulated: false }]);
  await expect.poll(() => server.made("GET /api/v1/models").length).toBe(1);
  expect(screen.queryByRole("complementary")).toBeNull();
  const other = await shown("member", [SIMULATOR]);
  expect(other.made("GET /api/v1/models").length).toBe(0);
  expect(screen.queryByRole("complementary")).toBeNull();
});
