/** The commands to a chat. Each is safe to repeat; a refusal is an `ApiError` to show. */
import type { QueuedMessage } from "@holdfast/client";
import type { Effort } from "@/api/queries/models";

export interface Draft {
  readonly text: string;
  readonly model: string | null;
  /** How hard the model shall think; without it, as the chat or the server says. */
  readonly effort?: Effort | null;
  /** Whether the provider may search the web; without it, as the chat or the server says. */
  readonly web?: boolean | null;
  /** Whether the model only makes a plan; without it, as the chat says. */
  readonly planMode?: boolean | null;
}

export type WhenBusy = "queue" | "interrupt";

export interface ChatActions {
  /** Send a message. It is shown at once, kept, and repeated until the server has it. */
  send(draft: Draft, whenBusy: WhenBusy): void;
  /** Send a refused message again, or a waiting one at once, under the same key. */
  resend(clientKey: string): void;
  /** Drop a message that never arrived; returns its text. */
  discard(clientKey: string): Draft | null;
  /** Stop the turn that is shown. It is no error if that turn has ended. */
  interrupt(): Promise<void>;
  /** Run again: after a failure, or at once while a retry waits. */
  retry(model: string | null): Promise<void>;
  edit(seq: number, draft: Draft): Promise<void>;
  take(queuedId: number): Promise<QueuedMessage>;
  remove(queuedId: number): Promise<void>;
  place(queuedId: number, before: number | null): Promise<void>;
  promote(queuedId: number): Promise<void>;
  /** Let a queue go on that Stop has paused. */
  resumeQueue(): Promise<void>;
  clearQueue(): Promise<void>;
  /** `digest`: of the call as it was shown; the server refuses a decision about another call. */
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
