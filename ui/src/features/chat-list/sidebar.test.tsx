import type { ChatSummary } from "@holdfast/client";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chatList } from "@/engine/chat-list";
import { told } from "@/testing/events";
import { chatSummary } from "@/testing/fixtures";
import { stubServer, WithQueries } from "@/testing/server";
import { Sidebar } from "./sidebar";

const TODAY = new Date().toISOString();
const LONG_AGO = "2020-03-04T10:15:30Z";
const OWNER = { id: "o", name: "Ada" };

/** The socket of the list; the test tells its events. */
class FakeSocket {
  static last: FakeSocket | null = null;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  constructor() {
    FakeSocket.last = this;
  }
  close(): void {}
}

let stop = () => {};
beforeEach(() => {
  // There is no layout here, and a list without a height draws no rows.
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(800);
  vi.stubGlobal("WebSocket", FakeSocket);
  stop = chatList.start();
});
afterEach(() => {
  cleanup();
  stop();
  chatList.forget();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

type Search = Parameters<typeof stubServer>[0][string];

/** The list at an address, with a server that answers searches. */
async function sidebar(address = "/", search: Search = () => ({ status: 404 })) {
  const server = stubServer({
    "GET /api/v1/me": () => ({ body: { user: OWNER } }),
    "GET /api/v1/chats": search,
  });
  const root = createRootRoute({ component: () => <Sidebar onHide={() => {}} /> });
  const paths = ["/", "/chats/$chatId", "/settings"];
  const routes = paths.map((path) => createRoute({ getParentRoute: () => root, path }));
  const router = createRouter({
    routeTree: root.addChildren(routes),
    history: createMemoryHistory({ initialEntries: [address] }),
  });
  render(<RouterProvider router={router as never} />, { wrapper: WithQueries });
  await screen.findByText(OWNER.name);
  return { server, router };
}

function tell(chats: readonly ChatSummary[]): void {
  FakeSocket.last?.onopen?.();
  const snapshot = told("chats.snapshot", { chats, after: null }, "1");
  FakeSocket.last?.onmessage?.({ data: JSON.stringify(snapshot) });
}

const page = (chats: readonly ChatSummary[]) => ({ body: { data: chats, next_cursor: null } });
const lines = () =>
  screen
    .getAllByRole("listitem")
    .map((item) => within(item).queryByRole("heading")?.textContent ?? linkOf(item));
const linkOf = (item: HTMLElement) => within(item).getByRole("link").getAttribute("href");
const rowOf = (title: string) => screen.getByText(title).closest("li") as HTMLElement;
const searchFor = (value: string) =>
  fireEvent.change(screen.getByRole("searchbox"), { target: { value } });

describe("the list of chats", () => {
  it("shows the pinned group first, then the chats by time", async () => {
    await sidebar();
    tell([
      chatSummary("new", TODAY),
      chatSummary("old", LONG_AGO),
      chatSummary("kept", LONG_AGO, { pinned: true }),
    ]);
    await screen.findByText("kept");
    expect(lines()).toEqual([
      ...["Pinned", "/chats/kept"],
      ...["Today", "/chats/new"],
      ...["Older", "/chats/old"],
    ]);
  });

  it("marks an unread chat, but not the open one", async () => {
    await sidebar("/chats/open");
    tell(["open", "other", "read"].map((id) => chatSummary(id, TODAY, { unread: id !== "read" })));
    await screen.findByText("other");
    const isMarked = (title: string) =>
      within(rowOf(title)).queryByRole("img", { name: "unread" }) !== null;
    expect(["open", "other", "read"].map(isMarked)).toEqual([false, true, false]);
    const current = screen.getByRole("link", { current: "page" });
    expect(current.getAttribute("href")).toBe("/chats/open");
  });

  it("says in a row what the chat does, and gives the menu to its owner only", async () => {
    await sidebar();
    tell([
      chatSummary("busy", TODAY, { status: "running", queue_length: 2 }),
      chatSummary("theirs", TODAY, { owner_id: "another" }),
    ]);
    await screen.findByText("busy");
    expect(rowOf("busy").textContent).toContain("running · 2 queued");
    expect(within(rowOf("busy")).getByRole("img", { name: "running" })).toBeDefined();
    expect(screen.getByRole("button", { name: "More for busy" })).toBeDefined();
    expect(rowOf("theirs").textContent).toContain("shared");
    expect(screen.queryByRole("button", { name: "More for theirs" })).toBeNull();
  });

  it("says what the last turn came to, and what the chat is about", async () => {
    await sidebar();
    const about = { turn_label: "Tests pass again", summary: "A fix of the tests." };
    tell([
      chatSummary("done", TODAY, about),
      chatSummary("again", TODAY, { ...about, status: "running" }),
      chatSummary("plain", TODAY),
    ]);
    await screen.findByText("done");
    expect(rowOf("done").textContent).toContain(" · Tests pass again");
    expect(within(rowOf("done")).getByRole("link").title).toBe("A fix of the tests.");
    expect(rowOf("again").textContent).not.toContain("Tests pass again");
    expect(within(rowOf("plain")).getByRole("link").title).toBe("");
  });

  it("says that there are no chats only once the server has told so", async () => {
    await sidebar();
    expect(screen.queryByText("No chats yet.")).toBeNull();
    tell([]);
    await screen.findByText("No chats yet.");
    expect(screen.queryByRole("listitem")).toBeNull();
  });
});

describe("a search in the list", () => {
  it("shows the chats that the server found, and all chats again when it is cleared", async () => {
    const found = chatSummary("found", LONG_AGO, { title: "Kelp forest" });
    const { server } = await sidebar("/", () => page([found]));
    tell([chatSummary("listed", TODAY)]);
    await screen.findByText("listed");
    searchFor("kelp");
    await screen.findByText("Kelp forest");
    expect(lines()).toEqual(["/chats/found"]);
    expect(server.made("GET /api/v1/chats").at(-1)?.url.searchParams.get("q")).toBe("kelp");
    fireEvent.click(screen.getByRole("button", { name: "Clear search" }));
    await screen.findByText("listed");
  });

  it("says that no title matches", async () => {
    await sidebar("/", () => page([]));
    searchFor("kelp");
    await screen.findByText("No chat title contains “kelp”");
  });

  it("says why it failed, and a retry asks the server again", async () => {
    const body = { code: "unavailable", detail: "The search is not available." };
    const answers = [{ status: 400, body }, page([chatSummary("found", TODAY)])];
    const { server } = await sidebar("/", () => answers.shift() ?? { status: 500 });
    searchFor("found");
    await screen.findByText("Could not load the list.");
    expect(screen.getByText("The search is not available.")).toBeDefined();
    act(() => screen.getByRole("button", { name: "Retry" }).click());
    await screen.findByText("found");
    expect(screen.queryByText("Could not load the list.")).toBeNull();
    await waitFor(() => expect(server.made("GET /api/v1/chats")).toHaveLength(2));
  });
});
