/** The open chat, and the last few before it: who comes back to one sees it at once. */
import { askWhoWeAre, BASE } from "@/api/client";
import type { ChatActions } from "./actions";
import { commandsOf } from "./commands";
import { tellChat } from "./connection";
import { ChatLog } from "./store";
import { Stream } from "./stream";

const KEPT_MAX = 5;
const HIDDEN_MS = 60_000;

export interface OpenChat {
  readonly log: ChatLog;
  readonly actions: ChatActions;
}

const kept = new Map<string, OpenChat>();
let following: Stream | null = null;

/** A chat's log, known or new; the one that was not looked at for longest is forgotten. */
export function logOf(chatId: string): OpenChat {
  const known = kept.get(chatId);
  const log = known?.log ?? new ChatLog(chatId);
  const open = known ?? { log, actions: commandsOf(log) };
  kept.delete(chatId);
  kept.set(chatId, open);
  for (const oldest of [...kept.keys()].slice(0, -KEPT_MAX)) kept.delete(oldest);
  return open;
}

/**
 * Follow a chat until the given function is called; the turn goes on without us. A tab that nobody
 * sees for a while lets go of its connection, of which a browser has few, and catches up when it is
 * seen again.
 */
export function follow({ log }: OpenChat): () => void {
  let stream: Stream | null = null;
  let hiding = 0;

  function start(): void {
    stream = new Stream({
      url: `${BASE}api/v1/chats/${log.chatId}/stream`,
      cursor: () => log.cursor,
      onEvent: (event) => log.apply(event),
      onState: tellChat,
      onRefused: (status) => (status === 401 ? askWhoWeAre() : log.gone()),
    });
    following = stream;
    stream.start();
  }

  function stop(): void {
    clearTimeout(hiding);
    stream?.stop();
    if (following === stream) following = null;
    stream = null;
    tellChat(null);
  }

  function onVisibility(): void {
    clearTimeout(hiding);
    if (document.visibilityState === "hidden") hiding = window.setTimeout(stop, HIDDEN_MS);
    else if (stream === null) start();
  }

  document.addEventListener("visibilitychange", onVisibility);
  start();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    stop();
  };
}

export function retryChatNow(): void {
  following?.retryNow();
}

/** After somebody signs out, nothing of theirs stays. */
export function forgetAll(): void {
  kept.clear();
}
