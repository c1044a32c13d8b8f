import { useCallback, useEffect, useState } from "react";
import { type Draft, joined, loadDraft, NEW_CHAT, saveDraft, takeOffers } from "./drafts";

const SAVED_AFTER_MS = 250;

/**
 * The draft of a chat, saved while it is written and when the page goes away. Only what was changed
 * here is saved: a tab in which nobody wrote must not put its empty field over another tab's words.
 */
export function useDraft(chatId: string | null) {
  const chat = chatId ?? NEW_CHAT;
  const [held, setHeld] = useState(() => read(chat));
  // Another chat: its own draft, in this very render, so that no frame shows the other's words.
  const current = held.chat === chat ? held : read(chat);
  if (held.chat !== chat) setHeld(current);
  const { draft, isOurs } = current;
  const change = useCallback(
    (next: Draft | ((was: Draft) => Draft)) =>
      setHeld((was) => {
        const before = was.chat === chat ? was.draft : loadDraft(chat);
        return { chat, draft: typeof next === "function" ? next(before) : next, isOurs: true };
      }),
    [chat],
  );
  useEffect(() => {
    if (!isOurs) return;
    const save = () => saveDraft(chat, draft);
    const timer = setTimeout(save, SAVED_AFTER_MS);
    addEventListener("pagehide", save);
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", save);
      save();
    };
  }, [chat, draft, isOurs]);
  useEffect(
    () => takeOffers(chat, (text) => change((was) => ({ ...was, text: joined(was.text, text) }))),
    [chat, change],
  );
  return [draft, change] as const;
}

function read(chat: string): { chat: string; draft: Draft; isOurs: boolean } {
  return { chat, draft: loadDraft(chat), isOurs: false };
}
