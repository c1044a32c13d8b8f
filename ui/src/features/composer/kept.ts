import { useState } from "react";
import { NEW_CHAT } from "./drafts";

/** A choice for a chat, kept in this browser under `prefix`; null: nothing was chosen. */
export function useKept(prefix: string, chatId: string | null) {
  const chat = chatId ?? NEW_CHAT;
  const [held, setHeld] = useState(() => ({ chat, value: load(prefix + chat) }));
  const value = held.chat === chat ? held.value : load(prefix + chat);
  if (held.chat !== chat) setHeld({ chat, value });
  const choose = (next: string | null) => {
    setHeld({ chat, value: next });
    try {
      if (next === null) localStorage.removeItem(prefix + chat);
      else localStorage.setItem(prefix + chat, next);
    } catch {
      // Not kept, then; it holds until the page is left.
    }
  };
  return [value, choose] as const;
}

function load(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
