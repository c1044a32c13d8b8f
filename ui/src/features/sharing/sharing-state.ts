/** Which chat is being shared; the dialog comes when it is first asked for. */

import type { ChatSummary } from "@holdfast/client";
import { create } from "zustand";

export const useSharing = create<{ chat: ChatSummary | null }>(() => ({ chat: null }));

export function shareChat(chat: ChatSummary | null): void {
  useSharing.setState({ chat });
}
