import type { ChatSummary } from "@holdfast/client";
import { describe, expect, it } from "vitest";
import { NewsWatch } from "./news";

function chats(...entries: [string, ChatSummary["status"]][]): ReadonlyMap<string, ChatSummary> {
  return new Map(entries.map(([id, status]) => [id, { id, status } as ChatSummary]));
}

function told(watch: NewsWatch, now: number, ...entries: [string, ChatSummary["status"]][]) {
  return watch.look(chats(...entries), now).map(({ kind, chat, ranMs }) => [chat.id, kind, ranMs]);
}

describe("news of chats", () => {
  it("tells nothing of what was there at first", () => {
    expect(told(new NewsWatch(), 0, ["a", "idle"], ["b", "failed"], ["c", "awaiting"])).toEqual([]);
  });

  it("tells that a turn ended, failed or needs somebody, and how long it ran", () => {
    const watch = new NewsWatch();
    told(watch, 1_000, ["a", "running"], ["b", "running"], ["c", "running"]);
    told(watch, 2_000, ["a", "running"], ["b", "running"], ["c", "running"]);
    expect(told(watch, 4_000, ["a", "idle"], ["b", "failed"], ["c", "awaiting"])).toEqual([
      ["a", "finished", 3_000],
      ["b", "failed", 3_000],
      ["c", "needs", 3_000],
    ]);
    expect(told(watch, 5_000, ["a", "idle"], ["b", "failed"], ["c", "awaiting"])).toEqual([]);
  });

  it("says nothing about a turn that somebody stopped", () => {
    const watch = new NewsWatch();
    told(watch, 0, ["a", "running"]);
    expect(told(watch, 1, ["a", "interrupting"])).toEqual([]);
    expect(told(watch, 2, ["a", "idle"])).toEqual([]);
  });

  it("says nothing about a chat that appears already at rest", () => {
    const watch = new NewsWatch();
    told(watch, 0, ["a", "idle"]);
    expect(told(watch, 1, ["a", "idle"], ["b", "idle"])).toEqual([]);
  });
});
