import { isNotFound } from "@tanstack/react-router";
import { afterEach, expect, it } from "vitest";
import { meQuery } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import { ADMIN_ONLY } from "./error-page";
import { router } from "./router";

afterEach(() => queryClient.clear());

/** What the guard of a section answers: null if it lets the user in. */
async function guard(section: string, role: string): Promise<unknown> {
  queryClient.setQueryData(meQuery.queryKey, { user: { role } } as never);
  const { beforeLoad } = router.routesByPath["/settings/$section"].options;
  try {
    await beforeLoad?.({ params: { section } } as never);
  } catch (refusal) {
    return isNotFound(refusal) ? (refusal.data ?? "not found") : refusal;
  }
  return null;
}

it("sections of administrators are closed to members", async () => {
  expect(await guard("users", "member")).toBe(ADMIN_ONLY);
  expect(await guard("audit-log", "member")).toBe(ADMIN_ONLY);
  expect(await guard("users", "admin")).toBeNull();
  expect(await guard("account", "member")).toBeNull();
});

it("a section that does not exist is not found", async () => {
  expect(await guard("no-such-section", "admin")).toBe("not found");
});
