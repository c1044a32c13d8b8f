import type { Branch } from "@holdfast/client";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { ChatActions } from "@/engine/actions";
import { ChatActionsContext, ChatMetaContext } from "@/features/chat/context";
import { message, text } from "@/testing/fixtures";
import { stubServer, WithQueries } from "@/testing/server";
import { MessageVersions } from "./message-versions";

vi.mock("@/markdown/highlight", () => ({ tokenize: () => Promise.reject(new Error("none")) }));
afterEach(cleanup);

const MESSAGES = "GET /api/v1/chats/chat_1/messages";
const OLDER: readonly Branch[] = [
  { version: 7, first_seq: 3, messages: 2 },
  { version: 2, first_seq: 1, messages: 3 },
];

function shown(restore: ((version: number) => Promise<void>) | null) {
  const server = stubServer({
    [MESSAGES]: (request) => {
      const version = new URL(request.url, "http://localhost").searchParams.get("version");
      const first = version === "7" ? 3 : 1;
      return {
        body: {
          data: [
            message(first, "user", [text(`question of ${version}`)]),
            message(first + 1, "assistant", [text(`answer of ${version}`)]),
          ],
        },
      };
    },
  });
  const actions = restore === null ? null : ({ restore } as unknown as ChatActions);
  render(
    <WithQueries>
      <ChatActionsContext value={{ chatId: "chat_1", actions }}>
        <ChatMetaContext
          value={{ models: [], authors: new Map(), versions: new Map([[5, OLDER]]) }}
        >
          <MessageVersions message={message(5, "user", [text("now")])} />
        </ChatMetaContext>
      </ChatActionsContext>
    </WithQueries>,
  );
  return server;
}

const dialog = () => within(screen.getByRole("dialog"));
const press = (name: string) => fireEvent.click(dialog().getByRole("button", { name }));

it("the versions are looked at one by one, and none of that writes", async () => {
  const restore = vi.fn(() => Promise.resolve());
  const server = shown(restore);
  expect(screen.getByRole("img", { name: "Version 3 of 3" }).textContent).toBe("3 / 3");
  expect(server.made(MESSAGES)).toHaveLength(0);

  fireEvent.click(screen.getByRole("button", { name: "Previous version" }));
  expect(await dialog().findByText("answer of 7")).toBeTruthy();
  press("Previous version");
  expect(await dialog().findByText("question of 2")).toBeTruthy();
  expect(dialog().getByText("1 message before these")).toBeTruthy();
  expect(
    dialog().getByRole<HTMLButtonElement>("button", { name: "Previous version" }).disabled,
  ).toBe(true);
  press("Next version");
  press("Next version");
  expect(dialog().getByText("The chat shows this version.")).toBeTruthy();
  expect(dialog().queryByRole("button", { name: "Continue from this version" })).toBeNull();
  expect(restore).not.toHaveBeenCalled();
});

it("only Continue restores, and closes the preview", async () => {
  const restore = vi.fn(() => Promise.resolve());
  shown(restore);
  fireEvent.click(screen.getByRole("button", { name: "Previous version" }));
  await dialog().findByText("answer of 7");
  press("Continue from this version");
  expect(restore).toHaveBeenCalledExactlyOnceWith(7);
  expect(screen.queryByRole("dialog")).toBeNull();
});

it("a reader looks, and is not offered to continue", async () => {
  shown(null);
  fireEvent.click(screen.getByRole("button", { name: "Previous version" }));
  expect(await dialog().findByText("answer of 7")).toBeTruthy();
  expect(dialog().queryByRole("button", { name: "Continue from this version" })).toBeNull();
});

it("a version that cannot be read says why", async () => {
  shown(null);
  stubServer({ [MESSAGES]: () => ({ status: 404, body: { title: "Not found" } }) });
  fireEvent.click(screen.getByRole("button", { name: "Previous version" }));
  expect(await dialog().findByRole("alert")).toBeTruthy();
});
