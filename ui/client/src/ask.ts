/** Send a message and wait for the answer to it, also on a chat that is busy with other messages. */
import { type Client, idempotencyHeader, unwrap, withRetry } from "./client.js";
import { ApiError } from "./errors.js";
import { followChat } from "./follow.js";
import { textOf } from "./parts.js";
import type { ChatView } from "./reducer.js";
import type { ActionRequired, ChatError, Message, Receipt, SendMessage } from "./types.js";

export interface WaitOptions {
  /** Stops waiting; the turn goes on. */
  readonly signal?: AbortSignal;
  /** Called after each event, such as to show the preview. */
  readonly onView?: (view: ChatView) => void;
}

export interface AskOptions extends WaitOptions {
  /** The server accepts the message once per key. Every reader of the chat sees the key. */
  readonly idempotencyKey?: string;
}

/** How a turn ended. `awaiting`: it continues after an approval or a tool result; wait again then. */
export interface Answer {
  readonly chatId: string;
  /** The `seq` of the user message, which names the turn. */
  readonly turnSeq: number;
  readonly status: "done" | "failed" | "awaiting";
  /** The text of the last reply. */
  readonly text: string;
  /** All messages of the turn after the user message. */
  readonly messages: readonly Message[];
  readonly error: ChatError | null;
  readonly actionRequired: ActionRequired | null;
}

/** The message was deleted from the queue before its turn began. */
export class MessageRemovedError extends Error {
  override readonly name = "MessageRemovedError";

  constructor() {
    super("The message was removed from the queue.");
  }
}

/** Sends a message to a chat (null: to a new one) and waits until the turn that it begins is over. */
export async function ask(
  client: Client,
  chatId: string | null,
  message: string | Partial<SendMessage>,
  options: AskOptions = {},
): Promise<Answer> {
  const { signal = null, idempotencyKey } = options;
  const sent = typeof message === "string" ? { text: message } : message;
  const header = idempotencyHeader(idempotencyKey);
  const receipt = await withRetry(() => unwrap<Receipt>(post()));
  return waitForTurn(client, receipt, options);

  function post() {
    if (chatId === null) {
      const { when_busy: _, ...first } = sent;
      const body = { message: first, tools: [] };
      return client.POST("/api/v1/chats", { params: { header }, body, signal });
    }
    return client.POST("/api/v1/chats/{chat_id}/messages", {
      params: { path: { chat_id: chatId }, header },
      body: { when_busy: "queue", ...sent },
      signal,
    });
  }
}

/** Waits until the turn of a message is over. `receipt`: the answer to the request that sent it. */
export function waitForTurn(
  client: Client,
  receipt: Receipt,
  { signal, onView }: WaitOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let turnSeq = receipt.message_seq;
    const stream = followChat(client, receipt.chat_id, {
      onView: (view, { final }) => {
        onView?.(view);
        turnSeq ??= turnOf(view, receipt.queued_id);
        // In the middle of a commit its messages have come, but not its state. A replica may be
        // behind the one that gave the receipt.
        if (!final || view.version < receipt.version) return;
        if (turnSeq !== null) {
          const answer = answerOf(receipt.chat_id, turnSeq, view);
          if (answer !== null) end(() => resolve(answer));
        } else if (view.queue.every((each) => each.queued_id !== receipt.queued_id)) {
          end(() => reject(new MessageRemovedError()));
        }
      },
      onRefused: (status) => {
        const message = `The stream was refused with ${status}.`;
        end(() => reject(new ApiError(status, "stream_refused", message)));
      },
    });
    const onAbort = (): void => end(() => reject(signal?.reason));
    signal?.addEventListener("abort", onAbort);

    function end(settle: () => void): void {
      signal?.removeEventListener("abort", onAbort);
      stream.stop();
      settle();
    }
  });
}

function turnOf(view: ChatView, queuedId: number | null): number | null {
  if (queuedId === null) return null;
  return view.messages.findLast((message) => message.queued_id === queuedId)?.turn_seq ?? null;
}

const SETTLED: ReadonlySet<string> = new Set(["idle", "failed", "awaiting"]);

/** Null: the turn is not over. */
function answerOf(chatId: string, turnSeq: number, view: ChatView): Answer | null {
  const { state } = view;
  if (state === null) return null;
  const isPresent = state.turn_seq === turnSeq;
  if (isPresent && !SETTLED.has(state.status)) return null;
  const messages = view.messages.filter(
    (message) => message.turn_seq === turnSeq && message.role !== "user",
  );
  const replies = messages.filter((message) => message.role === "assistant");
  const texts = replies.map((reply) => textOf(reply.parts)).filter((text) => text !== "");
  const status = isPresent && state.status !== "idle" ? state.status : "done";
  return {
    chatId,
    turnSeq,
    status: status as Answer["status"],
    text: texts.at(-1) ?? "",
    messages,
    error: isPresent ? state.error : null,
    actionRequired: isPresent ? state.action_required : null,
  };
}
