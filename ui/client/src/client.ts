/** Requests to the server: typed by its OpenAPI document, and safe to repeat. */
import createFetchClient, { type Client as FetchClient } from "openapi-fetch";
import { ApiError, apiErrorOf, NetworkError } from "./errors.js";
import type { paths } from "./schema.gen.js";

export interface ClientOptions {
  /** Where the server is, with its path prefix if it has one: `https://example.org/holdfast`. */
  readonly baseUrl: string;
  /** Without a key the browser authenticates with its session cookie. */
  readonly apiKey?: string;
  /** Called with every answer. */
  readonly onResponse?: (response: Response) => void;
  /** The server does not know the session or the key any more. */
  readonly onSessionExpired?: () => void;
}

/** The methods of openapi-fetch (`GET`, `POST`, …), and what a stream needs. */
export interface Client extends FetchClient<paths> {
  readonly baseUrl: string;
  /** The headers that authenticate. */
  readonly headers: Readonly<Record<string, string>>;
}

export function createClient(options: ClientOptions): Client {
  const { apiKey, onResponse, onSessionExpired } = options;
  const baseUrl = options.baseUrl.replace(/\/$/, "");
  const headers: Record<string, string> =
    apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const client = createFetchClient<paths>({
    baseUrl,
    headers,
    fetch: async (request) => {
      const response = await fetch(request);
      onResponse?.(response);
      if (onSessionExpired && (await isUnauthenticated(response))) onSessionExpired();
      return response;
    },
  });
  return Object.assign(client, { baseUrl, headers });
}

/** A wrong password is a 401, too, and does not end the session. */
async function isUnauthenticated(response: Response): Promise<boolean> {
  if (response.status !== 401) return false;
  const body = await response
    .clone()
    .json()
    .catch(() => null);
  return (body as { code?: unknown } | null)?.code === "unauthenticated";
}

interface Outcome<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The answer to a request of a client; throws `ApiError` or `NetworkError`. */
export async function unwrap<T>(request: Promise<Outcome<T>>): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await request;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new NetworkError(error);
  }
  if (outcome.response.ok) return outcome.data as T;
  throw apiErrorOf(outcome.response, outcome.error);
}

const PAUSES_MS = [300, 1000, 2000, 4000, 8000];

/** Repeats a request whose outcome is unknown. A request that writes needs one idempotency key. */
export async function withRetry<T>(
  request: () => Promise<T>,
  pausesMs: readonly number[] = PAUSES_MS,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await request();
    } catch (error) {
      const isRetryable =
        error instanceof NetworkError || (error instanceof ApiError && error.isRetryable);
      const pauseMs = pausesMs[tries];
      if (!isRetryable || pauseMs === undefined) throw error;
      await sleep(Math.max(pauseMs, error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0));
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A random id. `crypto.randomUUID` exists only in secure contexts. */
export function createId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export interface IdempotencyHeader {
  "idempotency-key": string;
}

/** The server does a request once per key, however often it is repeated. */
export function idempotencyHeader(key: string = createId()): IdempotencyHeader {
  return { "idempotency-key": key };
}
