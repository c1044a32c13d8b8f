/**
 * The view of a chat, as a pure function of its events: `reduce(view, event) → view`.
 *
 * The twin of `holdfast_client.view`; both run the fixtures in `tests/golden/stream`. The rules are
 * in docs/reference/events.md: what comes twice changes nothing, and an unknown type is ignored.
 */
import type {
  ChatState,
  Delta,
  HistoryReset,
  Message,
  PreviewDelta,
  QueuedMessage,
  StreamEvent,
  WireEvent,
} from "./types.js";

/** A part of the message to be. A call's `arguments` are text until they are whole. */
type PreviewPart =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | {
      readonly type: "tool_call";
      readonly call_id: string;
      readonly tool_name: string;
      readonly arguments: string;
    };

/**
 * What is being said right now, not yet committed. `parts` by their index in the message to be
 * (integer keys: `Object.values` has them in order); `outputs`: what running tools show, by call.
 */
export interface Preview {
  readonly attempt: number;
  /** Of the last delta that was applied. */
  readonly index: number;
  readonly parts: Readonly<Record<number, PreviewPart>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/**
 * `older`: there are messages before this seq; page for them. `version`: the last commit that was told
 * completely.
 */
export interface ChatView {
  readonly messages: readonly Message[];
  readonly older: number | null;
  readonly preview: Preview | null;
  readonly state: ChatState | null;
  readonly queue: readonly QueuedMessage[];
  /** An interrupt has paused it: it waits until it is resumed or cleared. */
  readonly queuePaused: boolean;
  readonly cursor: string | null;
  readonly version: number;
}

export const EMPTY: ChatView = {
  messages: [],
  older: null,
  preview: null,
  state: null,
  queue: [],
  queuePaused: false,
  cursor: null,
  version: 0,
};

export function reduce(view: ChatView, event: WireEvent): ChatView {
  let next = isKnown(event) ? handle(view, event) : view;
  if (event.final && event.version !== null && event.version !== next.version) {
    next = { ...next, version: event.version };
  }
  return event.cursor === null ? next : { ...next, cursor: event.cursor };
}

/** A view as the shared fixtures write it. */
export function asJson({ older, preview, queuePaused, ...view }: ChatView): unknown {
  return {
    ...view,
    queue_paused: queuePaused,
    older_before_seq: older,
    preview: preview === null ? null : { ...preview, parts: Object.values(preview.parts) },
  };
}

function historyReset(view: ChatView, data: HistoryReset): ChatView {
  let older = data.older_before_seq;
  if (older === null && view.older !== null && data.from_seq > 1) {
    older = Math.min(view.older, data.from_seq); // messages that were never loaded are still there
  }
  const messages = view.messages.filter((message) => message.seq < data.from_seq);
  return { ...view, messages, older, preview: null };
}

function message(view: ChatView, data: Message): ChatView {
  const last = view.messages.at(-1);
  if (last !== undefined && data.seq <= last.seq) return view; // known
  return { ...view, messages: [...view.messages, data], preview: null };
}

function previewDelta(view: ChatView, data: PreviewDelta): ChatView {
  let preview = view.preview;
  if (preview === null || preview.attempt < data.attempt) {
    preview = { attempt: data.attempt, index: 0, parts: {}, outputs: {} };
  }
  if (data.attempt !== preview.attempt || data.index !== preview.index + 1) {
    return view; // known, or of an attempt that is over
  }
  const parts = { ...preview.parts };
  const outputs = { ...preview.outputs };
  for (const delta of data.deltas) add(parts, outputs, delta);
  return { ...view, preview: { attempt: data.attempt, index: data.index, parts, outputs } };
}

function add(
  parts: Record<number, PreviewPart>,
  outputs: Record<string, string>,
  delta: Delta,
): void {
  switch (delta.type) {
    case "tool_output":
      outputs[delta.call_id] = (outputs[delta.call_id] ?? "") + delta.text;
      break;
    case "text":
    case "reasoning": {
      const known = parts[delta.index];
      parts[delta.index] =
        known === undefined || known.type === "tool_call"
          ? { type: delta.type, text: delta.text }
          : { ...known, text: known.text + delta.text };
      break;
    }
    case "tool_call": {
      const { call_id, tool_name } = delta;
      parts[delta.index] = { type: "tool_call", call_id, tool_name, arguments: "" };
      break;
    }
    case "arguments": {
      const known = parts[delta.index];
      if (known?.type === "tool_call") {
        parts[delta.index] = { ...known, arguments: known.arguments + delta.text };
      }
      break;
    }
  }
}

type Handlers = {
  readonly [E in StreamEvent as E["type"]]: (view: ChatView, data: E["data"]) => ChatView;
};

const HANDLERS: Handlers = {
  "history.reset": historyReset,
  "message.created": message,
  "preview.delta": previewDelta,
  "preview.reset": (view) => ({ ...view, preview: null }),
  "chat.state": (view, state) => ({ ...view, state }),
  "queue.updated": (view, data) => ({
    ...view,
    queue: data.messages,
    queuePaused: data.paused ?? false,
  }),
  ping: (view) => view,
  closed: (view) => view,
};

/** The data of an event of a known type are not checked: the server keeps its own contract. */
function isKnown(event: WireEvent): event is StreamEvent {
  return Object.hasOwn(HANDLERS, event.type);
}

/** TypeScript does not see that the handler and the data are of the same type of event. */
function handle(view: ChatView, { type, data }: StreamEvent): ChatView {
  return (HANDLERS[type] as (view: ChatView, data: unknown) => ChatView)(view, data);
}
