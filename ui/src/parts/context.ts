/** What the items of a transcript may do and know, beside what they show. */
import { createContext, useContext } from "react";
import type { ChatActions } from "@/log/actions";
import type { OlderPath } from "@/log/types";

export interface ChatContext {
  chatId: string;
  /** `null`: whoever looks may only look. */
  actions: ChatActions | null;
  models: readonly string[];
  /** Histories that edits left behind, by the seq of the message that took their place. */
  versions: ReadonlyMap<number, readonly OlderPath[]>;
  /** Of whoever is not the one who looks; by their ids. */
  authors: ReadonlyMap<string, string>;
  isOpen: (key: string) => boolean;
  toggle: (key: string) => void;
}

const NOWHERE: ChatContext = {
  chatId: "",
  actions: null,
  models: [],
  versions: new Map(),
  authors: new Map(),
  isOpen: () => false,
  toggle: () => {},
};

export const Chat = createContext<ChatContext>(NOWHERE);

export function useChat(): ChatContext {
  return useContext(Chat);
}
