/** The client of the page: it authenticates with the session cookie. */
import { createClient, unwrap } from "@holdfast/client";
import { hearServerTime } from "@/lib/clock";

/** Files of the page are in `assets/`; the page, and the API beside it, is one step up. */
const here = import.meta.url;
export const BASE = import.meta.env.PROD ? new URL("..", here).pathname : "/";

let expired: () => void = () => {};

/** What to do when the server does not know the session any more. */
export function onSessionExpired(act: () => void): void {
  expired = act;
}

export const api = createClient({
  baseUrl: BASE,
  onResponse: ({ headers }) => hearServerTime(headers.get("date")),
  onSessionExpired: () => expired(),
});

/** A stream was refused: if the session has expired, the page learns it from this request. */
export function checkSession(): void {
  unwrap(api.GET("/api/v1/me")).catch(() => {});
}
