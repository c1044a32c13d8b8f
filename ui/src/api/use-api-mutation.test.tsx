import { ApiError, unwrap } from "@holdfast/client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { useApiMutation } from "./use-api-mutation";

afterEach(cleanup);

function hook(answers: (() => Promise<string>)[]) {
  const keys: string[] = [];
  const request = vi.fn((_: string, header: { "idempotency-key": string }) => {
    keys.push(header["idempotency-key"]);
    return (answers.shift() ?? (() => Promise.resolve("done")))();
  });
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useApiMutation({ request }), { wrapper });
  const run = async () => {
    act(() => result.current.run("body"));
    await waitFor(() => expect(result.current.isPending).toBe(false));
  };
  return { keys, request, result, run };
}

it("a second click while the first runs does nothing", async () => {
  let answer: (value: string) => void = () => {};
  const { request, result } = hook([() => new Promise((resolve) => (answer = resolve))]);
  act(() => {
    result.current.run("body");
    result.current.run("body");
  });
  await waitFor(() => expect(result.current.isPending).toBe(true));
  act(() => result.current.run("body"));
  expect(request).toHaveBeenCalledTimes(1);
  await act(async () => answer("done"));
  await waitFor(() => expect(result.current.isPending).toBe(false));
});

it("a request whose outcome is unknown is repeated under its key, and a new one is not", async () => {
  const { keys, result, run } = hook([
    () => unwrap(Promise.reject(new TypeError("Failed to fetch"))),
    () => Promise.reject(new ApiError(503, "unavailable", "Try again.")),
  ]);
  await run();
  expect(result.current.error).not.toBeNull();
  await run();
  await run();
  await run();
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).toBe(keys[0]);
  expect(keys[3]).not.toBe(keys[0]);
  expect(result.current.error).toBeNull();
});

it("a refusal tells the fields, and the next try has a key of its own", async () => {
  const body = { errors: [{ in: "body", pointer: "/email", detail: "Is taken." }] };
  const refused = { error: body, response: new Response(null, { status: 422 }) };
  const { keys, result, run } = hook([() => unwrap(Promise.resolve(refused))]);
  await run();
  expect(result.current.fieldErrors).toEqual({ "/email": "Is taken." });
  await run();
  expect(keys[1]).not.toBe(keys[0]);
});
