/**
 * Events from the server, each once, until the stream is stopped.
 *
 * After a cut (a restart, a proxy, a laptop that slept) the next connection resumes after the last
 * event. A cut is not an error: `onState` reports how long it lasts.
 */
import { createParser } from "eventsource-parser";
import type { StreamEvent, WireEvent } from "./types.js";

/** `down`: since when, and when the next try begins. */
export type Connection =
  | { readonly state: "live" }
  | {
      readonly state: "down";
      readonly since: number;
      readonly nextAt: number;
      readonly tries: number;
    };

/** The server says something at least every 15 s; 2.5 times that is silence. */
export const SILENCE_MS = 40_000;
/** A page that was frozen reads what has arrived meanwhile before it gives up its connection. */
const LAST_WORD_MS = 250;
const FIRST_PAUSE_MS = 250;
const PAUSE_MAX_MS = 8_000;
/** After so long without an event, a page that is shown again replaces its connection. */
const STALE_MS = 20_000;

/** The reader may not read, or there is nothing to read: the stream ends. */
export class Refused extends Error {
  constructor(readonly status: number) {
    super(`refused with ${status}`);
  }
}

/** The user has too many streams, and the server ended this one: do not reconnect for so long. */
export class Ended extends Error {
  constructor(readonly afterMs: number) {
    super("ended for another one");
  }
}

/** An event could not be applied: the next connection starts with a snapshot. */
export class Malformed extends Error {}

/** Events that could not be applied, since the module was loaded. */
export const counters = { malformed: 0 };

export interface Followed {
  /** Where the events are. */
  readonly url: string;
  /** The headers that authenticate; without them, the session cookie does. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The last event that was seen; null: a snapshot comes first. */
  cursor(): string | null;
  /** Forget the cursor: the next connection brings a snapshot. */
  beginAnew(): void;
  onEvent(event: WireEvent): void;
  onState(connection: Connection): void;
  /** 401: not signed in. 403, 404: the user may not read it, or it does not exist. It ends here. */
  onRefused(status: number): void;
}

/** What a connection needs of its reader. `onText` takes one event, and throws to end it. */
export interface Receiver {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  cursor(): string | null;
  onText(text: string): void;
}

/**
 * Applies events one by one. An event that cannot be applied costs one snapshot, because the same
 * cursor would bring it again. If it is in the snapshot, too, it is left out.
 */
export function receiverOf(followed: Followed): Receiver {
  let isAnew = false;

  function failed(cause: unknown): void {
    counters.malformed++;
    if (isAnew) return;
    isAnew = true;
    followed.beginAnew();
    throw new Malformed("an event could not be applied", { cause });
  }

  return {
    url: followed.url,
    headers: followed.headers ?? {},
    cursor: () => followed.cursor(),
    onText: (text) => {
      try {
        const event = parseEvent(text);
        if (isClosed(event)) closedBy(event.data);
        else followed.onEvent(event);
        if (event.final) isAnew = false;
      } catch (error) {
        if (error instanceof Ended || error instanceof Refused) throw error;
        failed(error);
      }
    },
  };
}

/** Throws if the text is not the envelope of an event. */
function parseEvent(text: string): WireEvent {
  const value: unknown = JSON.parse(text);
  if (!isEnvelope(value)) throw new Error("not an event");
  return value;
}

function isEnvelope(value: unknown): value is WireEvent {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    "data" in value
  );
}

type ClosedEvent = Extract<StreamEvent, { type: "closed" }>;

function isClosed(event: WireEvent): event is WireEvent & ClosedEvent {
  return event.type === "closed";
}

/** After any other reason the next request says whether there is something to read. */
function closedBy({ reason, retry_after_seconds: afterS }: ClosedEvent["data"]): void {
  if (reason === "deleted") throw new Refused(404);
  if (afterS !== null) throw new Ended(afterS * 1000);
}

/** One connection: reads until it ends, fails, or `signal` says so. */
export type Open = (receiver: Receiver, signal: AbortSignal, heard: () => void) => Promise<void>;

const LAST_EVENT_ID = "Last-Event-ID";

export const openFetch: Open = async (receiver, signal, heard) => {
  const cursor = receiver.cursor();
  const headers: Record<string, string> = { ...receiver.headers, accept: "text/event-stream" };
  if (cursor !== null) headers[LAST_EVENT_ID] = cursor;
  const response = await fetch(receiver.url, { headers, signal, cache: "no-store" });
  if (isFinal(response.status)) throw new Refused(response.status);
  if (!response.ok || response.body === null) throw new Error(`answered ${response.status}`);
  heard();
  const parser = createParser({
    onEvent: ({ data }) => receiver.onText(data),
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    parser.feed(value);
  }
};

/** The same request would get the same answer; after 408 and 429 it would not. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** The close code of a chat that was deleted. */
const DELETED = 4404;

/**
 * The same events by WebSocket: a browser opens hundreds of those, but only six other connections per
 * host. If no socket opens (a proxy that has none, or a refusal, whose reason a browser does not
 * tell), the next connection is a fetch. A browser cannot send headers with a socket, so it needs
 * the session cookie.
 */
export function openSocketOrFetch(): Open {
  let works = true;
  return async (receiver, signal, heard) => {
    if (!works) {
      works = true; // the server may have been away: try a socket again next time
      return openFetch(receiver, signal, heard);
    }
    let opened = false;
    try {
      await bySocket(receiver, signal, () => {
        opened = true;
        heard();
      });
    } finally {
      works = opened || signal.aborted;
    }
  };
}

function bySocket(receiver: Receiver, signal: AbortSignal, heard: () => void): Promise<void> {
  const cursor = receiver.cursor();
  const url = new URL(receiver.url, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  if (cursor !== null) url.searchParams.set("after", cursor);
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    signal.addEventListener("abort", () => {
      socket.close();
      reject(new Error("left"));
    });
    socket.onopen = heard;
    socket.onmessage = ({ data }) => {
      if (signal.aborted) return;
      heard();
      try {
        receiver.onText(data);
      } catch (error) {
        reject(error);
      }
    };
    socket.onclose = ({ code }) => (code === DELETED ? reject(new Refused(404)) : resolve());
  });
}

/** The browser is online, or its tab is shown, again. Elsewhere nothing happens. */
function onReturn(act: () => void): () => void {
  if (typeof window === "undefined") return () => {};
  const onEvent = (): void => {
    if (document.visibilityState !== "hidden") act();
  };
  const sources = [
    [window, "online"],
    [window, "pageshow"],
    [document, "visibilitychange"],
  ] as const;
  for (const [target, name] of sources) target.addEventListener(name, onEvent);
  return () => {
    for (const [target, name] of sources) target.removeEventListener(name, onEvent);
  };
}

export class Stream {
  private readonly receiver: Receiver;
  private stopped = false;
  private connection: AbortController | null = null;
  private heardAt = 0;
  private downSince = 0;
  private tries = 0;
  private wake: () => void = () => {};
  private unsubscribe: () => void = () => {};

  constructor(
    private readonly followed: Followed,
    private readonly open: Open = openFetch,
    private readonly now: () => number = Date.now,
  ) {
    this.receiver = receiverOf(followed);
  }

  start(): void {
    this.downSince = this.now();
    this.unsubscribe = onReturn(this.reconnect);
    void this.run();
  }

  stop(): void {
    this.stopped = true;
    this.unsubscribe();
    this.connection?.abort();
    this.wake();
  }

  /** Ends the pause before the next connection. */
  readonly retryNow = (): void => this.wake();

  /** The user is back: ends the pause, and replaces a connection that may be dead. */
  private readonly reconnect = (): void => {
    this.wake();
    if (this.connection !== null && this.now() - this.heardAt > STALE_MS) this.connection.abort();
  };

  private async run(): Promise<void> {
    while (!this.stopped) {
      let leastMs = 0;
      try {
        await this.once();
      } catch (error) {
        if (error instanceof Ended) leastMs = error.afterMs;
        if (error instanceof Refused && !this.stopped) {
          this.followed.onRefused(error.status);
          return;
        }
      }
      if (!this.stopped) await this.pause(leastMs);
    }
  }

  private async once(): Promise<void> {
    const connection = new AbortController();
    this.connection = connection;
    this.heardAt = this.now();
    let silence: ReturnType<typeof setTimeout>;
    const giveUp = (): void => {
      silence = setTimeout(() => connection.abort(), LAST_WORD_MS);
    };
    const heard = (): void => {
      this.heardAt = this.now();
      clearTimeout(silence);
      silence = setTimeout(giveUp, SILENCE_MS);
      if (this.downSince > 0) this.followed.onState({ state: "live" });
      this.downSince = 0;
    };
    silence = setTimeout(giveUp, SILENCE_MS);
    const began = this.now();
    try {
      await this.open(this.receiver, connection.signal, heard);
    } finally {
      clearTimeout(silence);
      connection.abort();
      this.connection = null;
      if (this.now() - began > PAUSE_MAX_MS) this.tries = 0; // it held for a while
    }
  }

  private async pause(leastMs: number): Promise<void> {
    const now = this.now();
    if (this.downSince === 0) this.downSince = now;
    // With jitter: all clients wait for a server that restarts.
    const most = Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** this.tries++);
    const pauseMs = leastMs + most * (0.5 + Math.random() / 2);
    const { downSince: since, tries } = this;
    this.followed.onState({ state: "down", since, nextAt: now + pauseMs, tries });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = () => {};
  }
}
