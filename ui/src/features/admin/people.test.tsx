import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import type { Me } from "@/api/queries/me";
import { stubServer, WithQueries } from "@/testing/server";
import { People } from "./people";
import type { AdminSearch } from "./sections";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const user = (name: string) => ({
  id: name,
  name,
  email: `${name.toLowerCase()}@acme.example`,
  role: "member",
  has_password: true,
  created_at: "2026-03-04T10:15:30Z",
  disabled_at: null,
  last_seen_at: null,
  session_count: 1,
  api_key_count: 0,
  link_expires_at: null,
});
const MADE = { token: "abc", expires_at: "2026-03-11T10:15:30Z", user: user("Cid") };
const ME = { user: { ...user("Ada"), role: "admin" } } as unknown as Me;
const LIST = { body: { data: [user("Ada"), user("Grace")], next_cursor: "second" } };

function Page({ onSearch }: { onSearch?: (search: AdminSearch) => void }) {
  const [search, setSearch] = useState<AdminSearch>({});
  const change = (next: AdminSearch) => {
    onSearch?.(next);
    setSearch(next);
  };
  return (
    <WithQueries>
      <People me={ME} search={search} onSearch={change} />
    </WithQueries>
  );
}

function fill(name: string, email: string) {
  fireEvent.change(screen.getByLabelText("Name"), { target: { value: name } });
  fireEvent.change(screen.getByLabelText("E-mail"), { target: { value: email } });
}

it("a double click adds one user, and a repeat has the same key", async () => {
  const answers = [{ status: 503 }, { status: 201, body: user("Cid") }];
  const server = stubServer({
    "GET /api/v1/organization/users": () => LIST,
    "POST /api/v1/users": () => answers.shift() ?? { status: 500 },
    "POST /api/v1/users/Cid/link": () => ({ status: 201, body: MADE }),
  });
  render(<Page />);
  fill("Cid", "cid@acme.example");
  const button = screen.getByRole("button", { name: "Add and make link" });
  fireEvent.click(button);
  fireEvent.click(button);
  await screen.findByRole("alert");
  expect(server.made("POST /api/v1/users")).toHaveLength(1);
  fireEvent.click(button);
  await waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Name").value).toBe(""));
  const keys = server
    .made("POST /api/v1/users")
    .map(({ request }) => request.headers.get("idempotency-key"));
  expect(keys).toHaveLength(2);
  expect(keys[1]).toBe(keys[0]);
  const link = await screen.findByLabelText<HTMLInputElement>("Link");
  expect(link.value).toMatch(/#invite=abc$/);
});

it("the error of a field is shown at the field, which gets the focus", async () => {
  const errors = [{ in: "body", pointer: "/email", detail: "This e-mail is taken." }];
  stubServer({
    "GET /api/v1/organization/users": () => LIST,
    "POST /api/v1/users": () => ({ status: 422, body: { code: "invalid_request", errors } }),
  });
  render(<Page />);
  fill("Cid", "ada@acme.example");
  fireEvent.click(screen.getByRole("button", { name: "Add and make link" }));
  const error = await screen.findByText("This e-mail is taken.");
  const field = screen.getByLabelText("E-mail");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(field.getAttribute("aria-describedby")).toContain(error.id);
  expect(document.activeElement).toBe(field);
  expect(screen.queryByRole("alert")).toBeNull();
});

it("an error of a field that the form does not have is shown below the form", async () => {
  const errors = [{ in: "body", pointer: "/role", detail: "No such role." }];
  const body = { code: "invalid_request", detail: "The role is not known.", errors };
  stubServer({
    "GET /api/v1/organization/users": () => LIST,
    "POST /api/v1/users": () => ({ status: 422, body }),
  });
  render(<Page />);
  fill("Cid", "cid@acme.example");
  fireEvent.click(screen.getByRole("button", { name: "Add and make link" }));
  expect((await screen.findByRole("alert")).textContent).toBe("The role is not known.");
});

async function choose(name: string, item: string) {
  const trigger = await screen.findByRole("button", { name: `Actions for ${name}` });
  fireEvent.keyDown(trigger, { key: "Enter" });
  fireEvent.click(await screen.findByRole("menuitem", { name: item }));
}

it("disabling a user asks first", async () => {
  const server = stubServer({
    "GET /api/v1/organization/users": () => LIST,
    "PATCH /api/v1/users/Grace": () => ({ body: user("Grace") }),
  });
  render(<Page />);
  await choose("Grace", "Disable");
  fireEvent.click(
    within(await screen.findByRole("alertdialog")).getByRole("button", { name: "Cancel" }),
  );
  expect(screen.queryByRole("alertdialog")).toBeNull();
  await choose("Grace", "Disable");
  expect(server.made("PATCH /api/v1/users/Grace")).toHaveLength(0);
  fireEvent.click(
    within(await screen.findByRole("alertdialog")).getByRole("button", { name: "Disable" }),
  );
  await waitFor(() => expect(server.made("PATCH /api/v1/users/Grace")).toHaveLength(1));
});

it("an administrator cannot act on the own account here", async () => {
  stubServer({ "GET /api/v1/organization/users": () => LIST });
  render(<Page />);
  await screen.findByRole("button", { name: "Actions for Grace" });
  expect(screen.queryByRole("button", { name: "Actions for Ada" })).toBeNull();
});

it("the table is searched and paged by the server, and the address says how", async () => {
  const server = stubServer({ "GET /api/v1/organization/users": () => LIST });
  const onSearch = vi.fn();
  render(<Page onSearch={onSearch} />);
  fireEvent.click(await screen.findByRole("button", { name: "Next page" }));
  expect(onSearch).toHaveBeenLastCalledWith({ after: "second" });
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "gra " } });
  await waitFor(() => expect(onSearch).toHaveBeenLastCalledWith({ q: "gra" }));
  await waitFor(() => {
    const last = server.made("GET /api/v1/organization/users").at(-1)?.url.searchParams;
    expect([last?.get("q"), last?.get("cursor")]).toEqual(["gra", null]);
  });
});
