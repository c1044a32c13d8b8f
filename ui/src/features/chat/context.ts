/**
 * What the items of a transcript may do and know, beside what they show. Two contexts: the actions
 * never change while a chat is open, so that news about models or users draws no button again.
 */

import type { Branch } from "@holdfast/client";
import { createContext, useContext } from "react";
import type { ChatActions } from "@/engine/actions";

interface ChatCommands {
  chatId: string;
  /** `null`: the reader may not write. */
  actions: ChatActions | null;
}

interface ChatMeta {
  models: readonly string[];
  /** Histories that edits left behind, by the seq of the message that took their place. */
  versions: ReadonlyMap<number, readonly Branch[]>;
  /** Names of other users, by their ids. */
  authors: ReadonlyMap<string, string>;
}

export const ChatActionsContext = createContext<ChatCommands>({ chatId: "", actions: null });

export const ChatMetaContext = createContext<ChatMeta>({
  models: [],
  versions: new Map(),
  authors: new Map(),
});

export function useChatActions(): ChatCommands {
  return useContext(ChatActionsContext);
}

export function useChatMeta(): ChatMeta {
  return useContext(ChatMetaContext);
}
