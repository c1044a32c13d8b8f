/** The connections of the list of chats, and of the open chats. */
import type { Connection } from "@holdfast/client";
import { create } from "zustand";

export const useListConnection = create<{ now: Connection }>(() => ({ now: { state: "live" } }));

/** `now`: of an open chat that is cut off; null: none is. Set by the sessions, once they are loaded. */
export const useChatConnections = create<{ now: Connection | null; retryNow: () => void }>(() => ({
  now: null,
  retryNow: () => {},
}));
