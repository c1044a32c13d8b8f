/** Requests to our own server: typed by its contract, safe to repeat, and refusals as `Problem`. */
import createClient from "openapi-fetch";
import { hearServerTime } from "@/kit/clock";
import type { paths } from "./schema.gen";

/** Files of the page are in `assets/`; the page, and the API beside it, is one step up. */
const here = import.meta.url;
export const BASE = import.meta.env.PROD ? new URL("..", here).pathname : "/";

export const api = createClient<paths>({
  baseUrl: BASE.replace(/\/$/, ""),
  fetch: async (request) => {
    const response = await fetch(request);
    hearServerTime(response.headers.get("date"));
    return response;
  },
});

/** What the server refused, in its own words. `code` is for programs, `message` for people. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }

  /** Nothing was done, or it is unknown whether it was: the same again is right. */
  get passing(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/** The server did not answer; what the browser says of it is no word for people. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super("The server does not answer. Try again.", { cause });
  }
}

let whenSignedOut: () => void = () => {};

/** What to do when the server no longer knows who asks. */
export function onSignedOut(act: () => void): void {
  whenSignedOut = act;
}

/** A stream was refused: if it is because nobody is signed in any more, the page will know. */
export function askWhoWeAre(): void {
  asked(api.GET("/api/v1/me")).catch(() => {});
}

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The answer, or a `Problem`, or `NoAnswer`. */
export async function asked<T>(request: Promise<Answered<T>>): Promise<T> {
  let answered: Answered<T>;
  try {
    answered = await request;
  } catch (error) {
    throw new NoAnswer(error);
  }
  if (answered.response.ok) return answered.data as T;
  throw problemOf(answered.response, answered.error);
}

export function problemOf(response: Response, body: unknown): Problem {
  const said = (body ?? {}) as { code?: string; title?: string; detail?: string };
  const code = said.code ?? "http_error";
  if (response.status === 401 && code === "not_authenticated") whenSignedOut();
  const message = said.detail ?? said.title ?? `The server answered ${response.status}.`;
  const after = Number(response.headers.get("retry-after"));
  return new Problem(response.status, code, message, after > 0 ? after * 1000 : null);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const PAUSES_MS = [300, 1000, 2000, 4000, 8000];

/** The same again, under the same key, while nobody could say whether it was done. */
export async function persistently<T>(
  request: () => Promise<T>,
  pauses: readonly number[] = PAUSES_MS,
): Promise<T> {
  for (let tried = 0; ; tried++) {
    try {
      return await request();
    } catch (error) {
      const passing = error instanceof NoAnswer || (error instanceof Problem && error.passing);
      const pause = pauses[tried];
      if (!passing || pause === undefined) throw error;
      await sleep(Math.max(pause, error instanceof Problem ? (error.retryAfterMs ?? 0) : 0));
    }
  }
}

/** A new name for a request. `crypto.randomUUID` exists only in secure contexts. */
export function newKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The header under which a repeat does nothing twice. */
export function keyed(key: string = newKey()): { "idempotency-key": string } {
  return { "idempotency-key": key };
}

/** For people: why something did not happen. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
