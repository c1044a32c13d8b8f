/**
 * Events from the server, each once, for as long as somebody wants them.
 *
 * Whatever cuts the connection, the next one goes on after the last event: a restart, a proxy, a
 * tunnel, a laptop that slept. Nothing of this is an error to anybody; that it lasts is told by
 * `onState`, and the page shows it after two seconds.
 */
import { createParser } from "eventsource-parser";
import type { WireEvent } from "./types";

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
/** A page that stood still hears what has waited for it before it gives its connection up. */
const LAST_WORD_MS = 250;
const FIRST_PAUSE_MS = 250;
const PAUSE_MAX_MS = 8_000;
/** Coming back after this long without a word, the connection is not trusted any more. */
const STALE_MS = 20_000;

/** No further: who reads may not, or there is nothing to read. */
export class Refused extends Error {
  constructor(readonly status: number) {
    super(`refused with ${status}`);
  }
}

/** Ended for another stream of the same person, who has too many: not to come again for so long. */
export class Ended extends Error {
  constructor(readonly afterMs: number) {
    super("ended for another one");
  }
}

function tell(followed: Followed, event: WireEvent): void {
  if (event.event === "ended") {
    throw new Ended((event.data as { retry_after_s: number }).retry_after_s * 1000);
  }
  followed.onEvent(event);
}

export interface Followed {
  /** Where the events are. */
  readonly url: string;
  /** The last event that was seen. */
  cursor(): string | null;
  onEvent(event: WireEvent): void;
  onState(connection: Connection): void;
  /** Not signed in, not ours, not there: it ends here. */
  onRefused(status: number): void;
}

/** One connection: reads until it ends, fails, or `signal` says so. */
export type Open = (followed: Followed, signal: AbortSignal, heard: () => void) => Promise<void>;

const LAST_EVENT_ID = "Last-Event-ID";

export const openFetch: Open = async (followed, signal, heard) => {
  const cursor = followed.cursor();
  const headers: Record<string, string> = { accept: "text/event-stream" };
  if (cursor !== null) headers[LAST_EVENT_ID] = cursor;
  const response = await fetch(followed.url, { headers, signal, cache: "no-store" });
  if (isFinal(response.status)) throw new Refused(response.status);
  if (!response.ok || response.body === null) throw new Error(`answered ${response.status}`);
  heard();
  const parser = createParser({
    onEvent: ({ event, data, id }) => {
      if (event !== undefined) tell(followed, { event, data: JSON.parse(data), id: id ?? null });
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    parser.feed(value);
  }
};

/** Asking again would be answered the same; too early (429) and too slow (408) would not. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

const GONE = 4404;

/**
 * The same events by WebSocket, of which a browser has hundreds where it has six other connections
 * per host. Who cannot have one (a proxy without it), or is refused and so not told why, asks again
 * in the other way.
 */
export function openSocketOrFetch(): Open {
  let works = true;
  return async (followed, signal, heard) => {
    if (!works) {
      works = true; // a server that was away is no proxy without sockets: the next time will tell
      return openFetch(followed, signal, heard);
    }
    let opened = false;
    try {
      await bySocket(followed, signal, () => {
        opened = true;
        heard();
      });
    } finally {
      works = opened || signal.aborted;
    }
  };
}

function bySocket(followed: Followed, signal: AbortSignal, heard: () => void): Promise<void> {
  const cursor = followed.cursor();
  const url = new URL(`${followed.url}/socket`, location.href);
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
        tell(followed, JSON.parse(data));
      } catch (error) {
        reject(error);
      }
    };
    socket.onclose = ({ code }) => (code === GONE ? reject(new Refused(404)) : resolve());
  });
}

export class Stream {
  private stopped = false;
  private connection: AbortController | null = null;
  private heardAt = 0;
  private downSince = 0;
  private tries = 0;
  private wake: () => void = () => {};

  constructor(
    private readonly followed: Followed,
    private readonly open: Open = openFetch,
    private readonly now: () => number = Date.now,
  ) {}

  start(): void {
    this.downSince = this.now();
    window.addEventListener("online", this.again);
    window.addEventListener("pageshow", this.again);
    document.addEventListener("visibilitychange", this.again);
    void this.run();
  }

  stop(): void {
    this.stopped = true;
    window.removeEventListener("online", this.again);
    window.removeEventListener("pageshow", this.again);
    document.removeEventListener("visibilitychange", this.again);
    this.connection?.abort();
    this.wake();
  }

  /** Somebody asks for it now. */
  readonly retryNow = (): void => this.wake();

  /** Back from somewhere: what waits does not wait longer, what may be dead is replaced. */
  private readonly again = (): void => {
    if (document.visibilityState === "hidden") return;
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
    let silence = 0;
    const giveUp = (): void => {
      silence = window.setTimeout(() => connection.abort(), LAST_WORD_MS);
    };
    const heard = (): void => {
      this.heardAt = this.now();
      clearTimeout(silence);
      silence = window.setTimeout(giveUp, SILENCE_MS);
      if (this.downSince > 0) this.followed.onState({ state: "live" });
      this.downSince = 0;
    };
    silence = window.setTimeout(giveUp, SILENCE_MS);
    const began = this.now();
    try {
      await this.open(this.followed, connection.signal, heard);
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
    // Not all at once: a server that comes back meets everybody who waited for it.
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
