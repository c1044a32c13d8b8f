/** What a person can do to a chat. Each is safe to repeat; a refusal is a `Problem` to show. */
import type { Taken } from "./types";

export interface Draft {
  readonly text: string;
  readonly model: string | null;
}

export type WhenBusy = "queue" | "interrupt";

export interface ChatActions {
  /** Say something; shown at once, and again and again until the server has it. */
  send(draft: Draft, whenBusy: WhenBusy): void;
  /** Again, under the same key. */
  resend(clientKey: string): void;
  /** Forget a message that never arrived; gives back its text. */
  discard(clientKey: string): Draft | null;
  interrupt(): Promise<void>;
  /** Run again: after a failure, or at once while a retry waits. */
  retry(model: string | null): Promise<void>;
  edit(seq: number, draft: Draft): Promise<void>;
  take(queuedId: number): Promise<Taken>;
  remove(queuedId: number): Promise<void>;
  place(queuedId: number, before: number | null): Promise<void>;
  promote(queuedId: number): Promise<void>;
  /** `digest`: of the call as it was shown; the server refuses a word that was given to another. */
  decide(
    callId: string,
    verdict: "approve" | "deny",
    reason: string | null,
    digest: string | null,
  ): Promise<void>;
  answer(callId: string, output: unknown, failed: boolean): Promise<void>;
  compact(): Promise<void>;
  restore(version: number): Promise<void>;
  loadOlder(): Promise<void>;
}
