/** The title of the tab: how many other chats have something unread, whether this one runs, its name. */
import { useEffect } from "react";
import { useUnread } from "@/engine/chat-list";
import { commonStrings } from "@/i18n/en/common";

export function titleOf(name: string | null, unread: number, running: boolean): string {
  const count = unread > 0 ? `(${unread}) ` : "";
  const rest = name === null ? commonStrings.product : `${name} · ${commonStrings.product}`;
  return `${count}${running ? "● " : ""}${rest}`;
}

interface Shown {
  /** The chat that is shown, which is not counted. */
  readonly chatId?: string;
  readonly running?: boolean;
}

export function usePageTitle(name: string | null, { chatId, running = false }: Shown = {}): void {
  const unread = useUnread(chatId);
  useEffect(() => {
    document.title = titleOf(name, unread, running);
  }, [name, unread, running]);
}
