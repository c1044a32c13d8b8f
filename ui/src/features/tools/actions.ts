import type { ChatActions } from "@/engine/actions";

/** What a user can do about a call. `null` instead of this: the reader may not write. */
export interface CallActions {
  /** `digest` identifies what was shown; the server refuses a decision about anything else. */
  decide: (
    callId: string,
    verdict: "approve" | "deny",
    reason: string | null,
    digest: string | null,
  ) => Promise<void>;
  answer: (callId: string, output: unknown, failed: boolean) => Promise<void>;
  send: ChatActions["send"];
}
