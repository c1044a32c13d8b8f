import { isNotFound, isRedirect } from "@tanstack/react-router";
import { afterEach, expect, it } from "vitest";
import { meQuery } from "@/api/queries/me";
import { queryClient } from "@/api/query-client";
import { ADMIN_ONLY } from "./error-page";
import { router } from "./router";

afterEach(() => queryClient.clear());

type Path = "/settings/$section" | "/admin" | "/admin/$section";

/** What the guard of a route answers: null if it lets the user in. */
async function guard(path: Path, role: string, section = ""): Promise<unknown> {
  queryClient.setQueryData(meQuery.queryKey, { user: { role } } as never);
  const { beforeLoad } = router.routesById[path].options;
  try {
    await beforeLoad?.({ params: { section } } as never);
  } catch (refusal) {
    if (isRedirect(refusal)) return refusal.options.params;
    return isNotFound(refusal) ? (refusal.data ?? "not found") : refusal;
  }
  return null;
}

it("the administration is closed to members", async () => {
  expect(await guard("/admin", "member")).toBe(ADMIN_ONLY);
  expect(await guard("/admin", "admin")).toBeNull();
  expect(await guard("/settings/$section", "member", "account")).toBeNull();
});

it("a section that does not exist is not found", async () => {
  expect(await guard("/settings/$section", "admin", "no-such-section")).toBe("not found");
  expect(await guard("/admin/$section", "admin", "no-such-section")).toBe("not found");
  expect(await guard("/admin/$section", "admin", "people")).toBeNull();
});

it("older addresses lead to the administration", async () => {
  expect(await guard("/settings/$section", "member", "users")).toEqual({ section: "people" });
  expect(await guard("/settings/$section", "admin", "audit-log")).toEqual({ section: "audit" });
});
