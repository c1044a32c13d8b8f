/** A server for component tests: answers by method and path, and every request that was made. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { vi } from "vitest";

interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  readonly etag?: string;
}

type Handler = (request: Request) => Answer | Promise<Answer>;

/** `handlers`: by method and path, such as `GET /api/v1/users`. Anything else is answered with 404. */
export function stubServer(handlers: Readonly<Record<string, Handler>>) {
  const requests: { readonly what: string; readonly url: URL; readonly request: Request }[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const url = new URL(request.url, "http://localhost");
    const what = `${request.method} ${url.pathname}`;
    requests.push({ what, url, request });
    const { status = 200, body = {}, etag } = (await handlers[what]?.(request)) ?? { status: 404 };
    const headers = new Headers({ "content-type": "application/json" });
    if (etag !== undefined) headers.set("etag", etag);
    return new Response(status === 204 ? null : JSON.stringify(body), { status, headers });
  });
  return { made: (what: string) => requests.filter((each) => each.what === what) };
}

export function WithQueries({ children }: { children: ReactNode }) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}
