/** What a person can do about a call. `null` instead of this: whoever looks may only look. */
export interface CallActions {
  /** `digest` says what was shown: a decision about anything else is refused. */
  decide: (
    callId: string,
    verdict: "approve" | "deny",
    reason: string | null,
    digest: string | null,
  ) => Promise<void>;
  answer: (callId: string, output: unknown, failed: boolean) => Promise<void>;
}
