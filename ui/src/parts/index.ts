/** The transcript and the composer, as the chat route mounts them. */
import "./parts.css";

export { Composer } from "./composer/composer";
export { moveDraft, NEW_CHAT, offerDraft } from "./composer/drafts";
export type { ComposerProps, TranscriptProps } from "./contract";
export { openFind } from "./transcript/find-state";
export { Transcript } from "./transcript/transcript";
