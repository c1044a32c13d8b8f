/** The session of a pane, for everything inside it. */
import { createContext, type ReactNode, useContext } from "react";
import { Pane } from "./panes";
import type { ChatSession } from "./session";

const SessionContext = createContext<ChatSession | null>(null);

export function useChatSession(): ChatSession {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("There is no ChatSessionProvider around this component.");
  return session;
}

interface ChatSessionProviderProps {
  readonly session: ChatSession;
  readonly children: ReactNode;
}

export function ChatSessionProvider({ session, children }: ChatSessionProviderProps) {
  return (
    <SessionContext value={session}>
      <Pane refs={session.refs}>{children}</Pane>
    </SessionContext>
  );
}
