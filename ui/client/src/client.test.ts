import { afterEach, describe, expect, it, vi } from "vitest";
import { createClient, idempotencyHeader, unwrap, withRetry } from "./client.js";
import { ApiError, NetworkError } from "./errors.js";

afterEach(() => vi.unstubAllGlobals());

function answering(...answers: (() => Response)[]) {
  const keys: (string | null)[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    keys.push(request.headers.get("idempotency-key"));
    return (answers[keys.length - 1] as () => Response)();
  });
  return keys;
}

const refused = (status: number, body: object, headers: HeadersInit = {}) =>
  Response.json(body, { status, headers });

describe("a request", () => {
  const client = createClient({ baseUrl: "http://server" });

  it("is repeated under the same key while its outcome is unknown", async () => {
    const keys = answering(
      () => {
        throw new TypeError("connection reset");
      },
      () => refused(503, { code: "unavailable" }),
      () => Response.json({ chat_id: "c" }, { status: 201 }),
    );
    const header = idempotencyHeader();
    const send = () =>
      unwrap(client.POST("/api/v1/chats", { params: { header }, body: { tools: [] } }));
    expect(await withRetry(send, [0, 0])).toEqual({ chat_id: "c" });
    expect(keys).toEqual([header, header, header].map((each) => each["idempotency-key"]));
  });

  it("that is refused is not repeated, and says which field is wrong", async () => {
    const errors = [{ in: "body", pointer: "/email", code: "invalid", detail: "No address." }];
    const keys = answering(() =>
      refused(422, { code: "invalid_request", detail: "Wrong.", errors }, { "x-request-id": "r" }),
    );
    const error = await withRetry(() => unwrap(client.GET("/api/v1/me"))).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "invalid_request", message: "Wrong.", requestId: "r" });
    expect((error as ApiError).fieldErrors).toEqual({ "/email": "No address." });
    expect(keys.length).toBe(1);
  });

  it("that gets no answer is a network error", async () => {
    answering(() => {
      throw new TypeError("Failed to fetch");
    });
    await expect(unwrap(client.GET("/api/v1/me"))).rejects.toThrow(NetworkError);
  });
});

it("only an unknown session has expired: a wrong password is a refusal like others", async () => {
  const onSessionExpired = vi.fn();
  const client = createClient({ baseUrl: "http://server", onSessionExpired });
  answering(
    () => refused(401, { code: "invalid_credentials" }),
    () => refused(401, { code: "unauthenticated" }),
  );
  await client.GET("/api/v1/me");
  expect(onSessionExpired).not.toHaveBeenCalled();
  await client.GET("/api/v1/me");
  expect(onSessionExpired).toHaveBeenCalledOnce();
});
