/** Which chat is being shared; the dialog comes when it is first asked for. */
import { create } from "zustand";
import type { ChatEntry } from "@/log/types";

export const useSharing = create<{ chat: ChatEntry | null }>(() => ({ chat: null }));

export function shareChat(chat: ChatEntry | null): void {
  useSharing.setState({ chat });
}
