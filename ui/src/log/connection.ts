/** How the connection stands, for the bar that says so: it is told late, and taken back at once. */
import { create } from "zustand";
import type { Connection } from "./stream";

interface Connections {
  readonly list: Connection;
  readonly chat: Connection | null;
}

export const useConnections = create<Connections>(() => ({ list: { state: "live" }, chat: null }));

export function tellList(list: Connection): void {
  useConnections.setState({ list });
}

export function tellChat(chat: Connection | null): void {
  useConnections.setState({ chat });
}

/** The worse of the two. */
export function worst({ list, chat }: Connections): Connection {
  if (chat?.state === "down") return chat;
  return list;
}
