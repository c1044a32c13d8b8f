import type { ChatError } from "@holdfast/client";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ChatActionsContext } from "@/features/chat/context";
import { stubServer, WithQueries } from "@/testing/server";
import { ErrorDetails } from "./error-details";

afterEach(cleanup);

const CHAT = "GET /api/v1/chats/chat_1";
const ERROR: ChatError = {
  type: "auth",
  message: "The key was refused.",
  provider: "anthropic",
  status_code: 401,
  retryable: false,
};

function shown(role: string, error: ChatError = ERROR) {
  const server = stubServer({
    "GET /api/v1/me": () => ({ body: { user: { role } } }),
    [CHAT]: () => ({
      body: { error_details: { detail: "invalid x-api-key", request_id: "req_1" } },
    }),
  });
  render(
    <WithQueries>
      <ChatActionsContext value={{ chatId: "chat_1", actions: null }}>
        <ErrorDetails error={error} />
      </ChatActionsContext>
    </WithQueries>,
  );
  return server;
}

it("an administrator reads what the provider said, once asked for", async () => {
  const server = shown("admin");
  const summary = await screen.findByText("Details");
  expect(server.made(CHAT)).toHaveLength(0);
  const details = summary.closest("details");
  if (details === null) throw new Error("the summary is not in a details element");
  details.open = true;
  fireEvent(details, new Event("toggle"));
  expect(await screen.findByText("invalid x-api-key")).toBeTruthy();
  expect(screen.getByText("Request id: req_1")).toBeTruthy();
});

it("a member is offered no details, and nothing is asked for", async () => {
  const server = shown("member");
  await expect.poll(() => server.made("GET /api/v1/me").length).toBe(1);
  expect(screen.queryByText("Details")).toBeNull();
  expect(server.made(CHAT)).toHaveLength(0);
});

it("a failure that no provider spoke of has no details", () => {
  const server = shown("admin", { ...ERROR, provider: null });
  expect(screen.queryByText("Details")).toBeNull();
  expect(server.made("GET /api/v1/me")).toHaveLength(0);
});
