import type { ChatSummary } from "@holdfast/client";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { stubServer, WithQueries } from "@/testing/server";
import Sharing from "./sharing";
import { shareChat } from "./sharing-state";

const person = (name: string) => ({
  id: name,
  user_id: name,
  name,
  email: null,
  disabled_at: null,
});
const CHAT = { id: "c1", title: "Kelp" } as ChatSummary;

beforeEach(() => act(() => shareChat(CHAT)));
afterEach(() => {
  act(() => shareChat(null));
  cleanup();
  vi.unstubAllGlobals();
});

function serve() {
  const shared: ReturnType<typeof person>[] = [];
  return stubServer({
    "GET /api/v1/me": () => ({ body: { user: person("Ada") } }),
    "GET /api/v1/chats/c1/shares": () => ({ body: { data: shared } }),
    "GET /api/v1/users": (request) => {
      const q = new URL(request.url, "http://localhost").searchParams.get("q") ?? "";
      const all = ["Ada", "Grace", "Zoe"].filter((name) => name.toLowerCase().includes(q));
      return { body: { data: all.map(person), next_cursor: null } };
    },
    "PUT /api/v1/chats/c1/shares/Zoe": () => {
      shared.push(person("Zoe"));
      return { status: 204 };
    },
  });
}

it("people are searched for on the server, and one that is added has access", async () => {
  const server = serve();
  render(<Sharing />, { wrapper: WithQueries });
  await screen.findByRole("button", { name: "Add Grace" });
  expect(screen.queryByRole("button", { name: "Add Ada" })).toBeNull();
  const field = screen.getByRole("searchbox");
  fireEvent.change(field, { target: { value: "zo" } });
  await waitFor(() =>
    expect(server.made("GET /api/v1/users").at(-1)?.url.searchParams.get("q")).toBe("zo"),
  );
  fireEvent.keyDown(field, { key: "Enter" });
  await screen.findByRole("button", { name: "Remove Zoe" });
  expect(server.made("PUT /api/v1/chats/c1/shares/Zoe")).toHaveLength(1);
});

it("a search without a match says so once the server has answered", async () => {
  serve();
  render(<Sharing />, { wrapper: WithQueries });
  await screen.findByRole("button", { name: "Add Grace" });
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "xyz" } });
  expect(screen.queryByText("No people found.")).toBeNull();
  await screen.findByText("No people found.");
});

it("the dialog says what a reader of the chat sees", async () => {
  serve();
  render(<Sharing />, { wrapper: WithQueries });
  await screen.findByText(/Text that you edited away stays with you/);
});
