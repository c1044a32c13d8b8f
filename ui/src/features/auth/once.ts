/** The one-time link of `holdfast dev`, `#once=TOKEN`, and that of an administrator, `#invite=TOKEN`. */

import { unwrap } from "@holdfast/client";
import { api } from "@/api/client";
import { forgetMe } from "./session";

const LINK = /^#(once|invite)=([0-9A-Za-z]+)$/;

/** The token of the address, which no longer shows it afterwards: not in the history, not in a bookmark. */
export function takeToken(kind: "once" | "invite"): string | null {
  const found = LINK.exec(location.hash);
  const token = found?.[1] === kind ? (found[2] ?? null) : null;
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

export async function signInOnce(token: string): Promise<void> {
  await unwrap(api.POST("/api/v1/sessions/by-link", { body: { token } }));
  forgetMe();
}
