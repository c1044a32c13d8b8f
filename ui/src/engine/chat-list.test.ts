import type { ChatSummary } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import { foundRows, groupOf } from "@/features/chat-list/groups";
import { told } from "@/testing/events";
import { chatSummary as chat } from "@/testing/fixtures";
import { inOrder, NO_CHATS, reduceList } from "./chat-list";

const A = chat("a", "2026-01-02T00:00:00+00:00");
const B = chat("b", "2026-01-03T00:00:00+00:00");

describe("the list", () => {
  const snapshot = { chats: [B, A], after: "x" };
  const list = reduceList(NO_CHATS, told("chats.snapshot", snapshot, "1"));

  it("is what the snapshot says, then what changes", () => {
    expect(inOrder(list.chats.values()).map((each) => each.id)).toEqual(["b", "a"]);
    const touched = chat("a", "2026-01-04T00:00:00+00:00");
    const changed = reduceList(list, told("chat.updated", touched, "2"));
    expect(inOrder(changed.chats.values()).map((each) => each.id)).toEqual(["a", "b"]);
    expect([changed.cursor, changed.after]).toEqual(["2", "x"]);
  });

  it("puts pins first and takes out what is gone or archived", () => {
    const pinned = reduceList(list, told("chat.updated", { ...A, pinned: true }));
    expect(inOrder(pinned.chats.values())[0]?.id).toBe("a");
    expect(pinned.cursor).toBe("1");
    const gone = reduceList(list, told("chat.removed", { chat_id: "b", reason: "archived" }, "3"));
    expect([...gone.chats.keys()]).toEqual(["a"]);
    const archived = reduceList(list, told("chat.updated", { ...B, archived: true }, "3"));
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
  const keys = (found: ChatSummary[], listed: ChatSummary[], wanted: string) =>
    foundRows(found, new Map(listed.map((each) => [each.id, each])), wanted).map((row) => row.key);

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
