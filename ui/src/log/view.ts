/**
 * What a person sees of a chat, as a pure function of its events: `reduce(view, event) → view`.
 *
 * The twin of `holdfast_client.view`; both run the fixtures in `tests/golden/stream`. It is
 * forgiving: what comes twice changes nothing, and a kind that it does not know is ignored.
 */
import type {
  ActionRequired,
  ChatError,
  Delta,
  LivePart,
  Message,
  QueuedMessage,
  Retry,
  StatusNow,
  WireEvent,
} from "./types";

/** A part of the message to be. A call's `arguments` are text until they are whole. */
export type PreviewPart =
  | { readonly kind: "text" | "reasoning"; readonly text: string }
  | {
      readonly kind: "tool_call";
      readonly call_id: string;
      readonly tool: string;
      readonly arguments: string;
    };

/**
 * What is being said right now, not yet committed. `parts` by their index in the message to be
 * (integer keys: `Object.values` has them in order); `outputs`: what running tools show, by call.
 */
export interface Preview {
  readonly attempt: number;
  readonly seq: number;
  readonly parts: Readonly<Record<number, PreviewPart>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/** `older`: there are messages before this seq; page for them. `lagged`: how often we were. */
export interface ChatView {
  readonly messages: readonly Message[];
  readonly older: number | null;
  readonly preview: Preview | null;
  readonly status: StatusNow | null;
  readonly retry: Retry | null;
  readonly error: ChatError | null;
  readonly action: ActionRequired | null;
  readonly queue: readonly QueuedMessage[];
  readonly lagged: number;
  readonly cursor: string | null;
}

export const EMPTY: ChatView = {
  messages: [],
  older: null,
  preview: null,
  status: null,
  retry: null,
  error: null,
  action: null,
  queue: [],
  lagged: 0,
  cursor: null,
};

export function reduce(view: ChatView, event: WireEvent): ChatView {
  const handler = HANDLERS[event.event];
  const next = handler === undefined ? view : handler(view, event.data);
  return event.id === undefined || event.id === null ? next : { ...next, cursor: event.id };
}

/** A view as the shared fixtures write it. */
export function asJson(view: ChatView): unknown {
  const { preview } = view;
  return {
    ...view,
    preview: preview === null ? null : { ...preview, parts: Object.values(preview.parts) },
  };
}

function historyReset(view: ChatView, data: { from: number; older: number | null }): ChatView {
  let older = data.older;
  if (older === null && view.older !== null && data.from > 1) {
    older = Math.min(view.older, data.from); // an edit: what we never loaded is still there
  }
  const messages = view.messages.filter((message) => message.seq < data.from);
  return { ...view, messages, older, preview: null };
}

function message(view: ChatView, data: Message): ChatView {
  const last = view.messages.at(-1);
  if (last !== undefined && data.seq <= last.seq) return view; // known
  return { ...view, messages: [...view.messages, data], preview: null };
}

function part(view: ChatView, data: LivePart): ChatView {
  let preview = view.preview;
  if (preview === null || preview.attempt < data.attempt) {
    preview = { attempt: data.attempt, seq: 0, parts: {}, outputs: {} };
  }
  if (data.attempt !== preview.attempt || data.seq !== preview.seq + 1) {
    return view; // known, or of an attempt that is over
  }
  const parts = { ...preview.parts };
  const outputs = { ...preview.outputs };
  for (const delta of data.deltas) add(parts, outputs, delta);
  return { ...view, preview: { attempt: data.attempt, seq: data.seq, parts, outputs } };
}

function add(
  parts: Record<number, PreviewPart>,
  outputs: Record<string, string>,
  delta: Delta,
): void {
  const index = delta.index ?? -1;
  const known = parts[index];
  const text = delta.text ?? "";
  const callId = delta.call_id ?? "";
  switch (delta.kind) {
    case "tool_output":
      outputs[callId] = (outputs[callId] ?? "") + text;
      break;
    case "text":
    case "reasoning":
      parts[index] =
        known === undefined || known.kind === "tool_call"
          ? { kind: delta.kind, text }
          : { ...known, text: known.text + text };
      break;
    case "tool_call":
      parts[index] = { kind: "tool_call", call_id: callId, tool: delta.tool ?? "", arguments: "" };
      break;
    case "arguments":
      if (known?.kind === "tool_call") {
        parts[index] = { ...known, arguments: known.arguments + text };
      }
      break;
  }
}

type Handler = (view: ChatView, data: unknown) => ChatView;

/** The wire is trusted to be the server's own; what a kind's data is stands in its contract. */
function of<T>(handler: (view: ChatView, data: T) => ChatView): Handler {
  return handler as Handler;
}

const HANDLERS: Readonly<Record<string, Handler | undefined>> = {
  history_reset: of(historyReset),
  message: of(message),
  preview_reset: (view) => ({ ...view, preview: null }),
  status: of((view, status: StatusNow) => ({
    ...view,
    status,
    retry: null,
    error: null,
    action: null,
  })),
  retry: of((view, retry: Retry) => ({ ...view, retry })),
  error: of((view, error: ChatError) => ({ ...view, error })),
  action_required: of((view, action: ActionRequired) => ({ ...view, action })),
  queue: of((view, data: { messages: QueuedMessage[] }) => ({ ...view, queue: data.messages })),
  part: of(part),
  lagged: (view) => ({ ...view, lagged: view.lagged + 1 }),
};
