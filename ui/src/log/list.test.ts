import { describe, expect, it } from "vitest";
import { foundRows, groupOf } from "@/app/groups";
import { inOrder, NO_CHATS, reduceList } from "./list";
import type { ChatEntry } from "./types";

function chat(id: string, touched: string, more: Partial<ChatEntry> = {}): ChatEntry {
  return {
    chat_id: id,
    owner_id: "o",
    title: id,
    title_source: null,
    status: "idle",
    archived: false,
    pinned: false,
    labels: [],
    version: 1,
    last_seq: 1,
    read_seq: 1,
    unread: false,
    queue_length: 0,
    touched_at: touched,
    created_at: touched,
    needs: null,
    ...more,
  };
}

const A = chat("a", "2026-01-02T00:00:00+00:00");
const B = chat("b", "2026-01-03T00:00:00+00:00");

describe("the list", () => {
  const told = reduceList(NO_CHATS, {
    event: "chats",
    id: "1",
    data: { chats: [B, A], after: "x" },
  });

  it("is what the snapshot says, then what changes", () => {
    expect(inOrder(told.chats.values()).map((each) => each.chat_id)).toEqual(["b", "a"]);
    const touched = chat("a", "2026-01-04T00:00:00+00:00");
    const changed = reduceList(told, { event: "chat", id: "2", data: touched });
    expect(inOrder(changed.chats.values()).map((each) => each.chat_id)).toEqual(["a", "b"]);
    expect([changed.cursor, changed.after]).toEqual(["2", "x"]);
  });

  it("puts pins first and takes out what is gone or archived", () => {
    const pinned = reduceList(told, { event: "chat", data: { ...A, pinned: true } });
    expect(inOrder(pinned.chats.values())[0]?.chat_id).toBe("a");
    expect(pinned.cursor).toBe("1");
    const gone = reduceList(told, { event: "chat_gone", id: "3", data: { chat_id: "b" } });
    expect([...gone.chats.keys()]).toEqual(["a"]);
    const archived = reduceList(told, { event: "chat", id: "3", data: { ...B, archived: true } });
    expect([...archived.chats.keys()]).toEqual(["a"]);
  });
});

it.each([
  ["2026-03-10T09:00:00", "Today"],
  ["2026-03-09T23:59:00", "Yesterday"],
  ["2026-03-05T12:00:00", "Previous 7 days"],
  ["2026-02-20T12:00:00", "Previous 30 days"],
  ["2025-03-10T12:00:00", "Older"],
])("a chat of %s stands under %s", (touched, group) => {
  expect(groupOf(chat("a", touched), new Date("2026-03-10T12:00:00"))).toBe(group);
});

describe("a search", () => {
  const keys = (found: ChatEntry[], listed: ChatEntry[], wanted: string) =>
    foundRows(found, new Map(listed.map((each) => [each.chat_id, each])), wanted).map(
      (row) => row.key,
    );

  it("finds a chat that got its title after the server looked", () => {
    const renamed = { ...B, title: "Kelp forests" };
    expect(keys([], [A, renamed], "kelp")).toEqual(["b"]);
    expect(keys([renamed], [A, renamed], "kelp")).toEqual(["b"]);
  });

  it("shows a found chat as the list knows it, and no other chat", () => {
    const rows = foundRows([A], new Map([["a", { ...A, status: "running" }]]), "a");
    expect(rows).toEqual([{ kind: "chat", key: "a", chat: { ...A, status: "running" } }]);
    expect(keys([A], [A, B], "")).toEqual(["a"]);
  });
});
