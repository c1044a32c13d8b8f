/** The transcript and the composer, as the chat route mounts them. */
import "./chat.css";

export { Composer } from "@/features/composer/composer";
export { NEW_CHAT, offerDraft } from "@/features/composer/drafts";
export { Pending } from "@/features/transcript/dividers";
export { Transcript } from "@/features/transcript/transcript";
export { createPaneRefs, focusComposer, Pane } from "./panes";
export { type ChatSession, chatSessions, sendingOf } from "./session";
export { ChatSessionProvider } from "./session-provider";
