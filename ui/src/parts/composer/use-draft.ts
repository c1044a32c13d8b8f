import { useCallback, useEffect, useState } from "react";
import { type Draft, joined, loadDraft, NEW_CHAT, saveDraft, takeOffers } from "./drafts";

const SAVED_AFTER_MS = 250;

/** The draft of a chat, saved while it is written and when the page goes away. */
export function useDraft(chatId: string | null) {
  const chat = chatId ?? NEW_CHAT;
  const [held, setHeld] = useState(() => ({ chat, draft: loadDraft(chat) }));
  // Another chat: its own draft, in this very render, so that no frame shows the other's words.
  const draft = held.chat === chat ? held.draft : loadDraft(chat);
  if (held.chat !== chat) setHeld({ chat, draft });
  const change = useCallback(
    (next: Draft | ((was: Draft) => Draft)) =>
      setHeld((was) => {
        const before = was.chat === chat ? was.draft : loadDraft(chat);
        return { chat, draft: typeof next === "function" ? next(before) : next };
      }),
    [chat],
  );
  useEffect(() => {
    const save = () => saveDraft(chat, draft);
    const timer = setTimeout(save, SAVED_AFTER_MS);
    addEventListener("pagehide", save);
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", save);
      save();
    };
  }, [chat, draft]);
  useEffect(
    () => takeOffers(chat, (text) => change((was) => ({ ...was, text: joined(was.text, text) }))),
    [chat, change],
  );
  return [draft, change] as const;
}
