/** The view of a chat, kept up to date. */
import type { Client } from "./client.js";
import { type ChatView, EMPTY, reduce } from "./reducer.js";
import { type Connection, Stream } from "./stream.js";
import type { WireEvent } from "./types.js";

export interface Following {
  /** Where to resume: the last view of this chat. Without it the stream starts with a snapshot. */
  readonly view?: ChatView;
  /** Called after each event. */
  onView(view: ChatView, event: WireEvent): void;
  onState?(connection: Connection): void;
  /** The server refused with this status; the stream has ended. */
  onRefused(status: number): void;
}

/** Follows a chat until `stop` of the result is called. */
export function followChat(client: Client, chatId: string, following: Following): Stream {
  let view = following.view ?? EMPTY;
  const stream = new Stream({
    url: `${client.baseUrl}/api/v1/chats/${chatId}/events`,
    headers: client.headers,
    cursor: () => view.cursor,
    beginAnew: () => {
      view = { ...view, cursor: null };
    },
    onEvent: (event) => {
      view = reduce(view, event);
      following.onView(view, event);
    },
    onState: (connection) => following.onState?.(connection),
    onRefused: (status) => following.onRefused(status),
  });
  stream.start();
  return stream;
}
