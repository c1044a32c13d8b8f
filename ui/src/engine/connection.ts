/** The connection of the list of chats. */
import type { Connection } from "@holdfast/client";
import { create } from "zustand";

export const useListConnection = create<{ now: Connection }>(() => ({ now: { state: "live" } }));
