import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { stubServer, WithQueries } from "@/testing/server";
import { Models } from "./models";
import { Rules } from "./rules";
import { OrganisationSettings } from "./settings";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const SETTINGS = "/api/v1/organization/settings";
const CONFLICT = { status: 412, body: { code: "precondition_failed", detail: "It has changed." } };
const POLICY = { default: "allow", rules: [] };
const VALUES = {
  default_model: null,
  instructions: "Be brief.",
  max_steps_per_turn: null,
  web_tools_enabled: false,
  oidc_sign_up_enabled: false,
  api_key_days_max: 365,
  approvals: POLICY,
};

/** Settings that keep their tag, as the server does. `meanwhile` is what another administrator saves. */
function settingsServer(more: Parameters<typeof stubServer>[0] = {}) {
  let now = { version: 1, values: VALUES as Record<string, unknown> };
  const answer = () => ({ body: now.values, etag: `"${now.version}"` });
  const save = (body: object) => {
    now = { version: now.version + 1, values: { ...now.values, ...body } };
  };
  const server = stubServer({
    "GET /api/v1/models": () => ({ body: { data: [], default_model: null } }),
    [`GET ${SETTINGS}`]: answer,
    [`PATCH ${SETTINGS}`]: async (request) => {
      if (request.headers.get("if-match") !== `"${now.version}"`) return CONFLICT;
      save(await request.clone().json());
      return answer();
    },
    ...more,
  });
  return { server, meanwhile: save, saved: () => now.values };
}

it("a draft of settings is kept when another administrator was first, and the next save is on top", async () => {
  const { server, meanwhile, saved } = settingsServer();
  render(<OrganisationSettings />, { wrapper: WithQueries });
  fireEvent.change(await screen.findByLabelText("Instructions"), { target: { value: "Mine" } });
  meanwhile({ instructions: "Theirs", max_steps_per_turn: 7 });
  const button = screen.getByRole("button", { name: "Save" });
  fireEvent.click(button);

  const notice = await screen.findByText(/Another administrator saved a change/);
  const told = within(notice.parentElement as HTMLElement).getAllByRole("listitem");
  expect(told.map((each) => each.textContent)).toEqual([
    "Instructions: Be brief. → Theirs",
    "Max steps per turn: nothing → 7",
  ]);
  expect(screen.getByLabelText<HTMLTextAreaElement>("Instructions").value).toBe("Mine");
  expect(screen.getByLabelText<HTMLInputElement>("Max steps per turn").value).toBe("7");
  expect(saved().instructions).toBe("Theirs");

  fireEvent.click(button);
  await waitFor(() => expect(saved().instructions).toBe("Mine"));
  expect(saved().max_steps_per_turn).toBe(7);
  await waitFor(() => expect(screen.queryByText(/Another administrator/)).toBeNull());
  const bodies = server.made(`PATCH ${SETTINGS}`).map(({ request }) => request.clone().json());
  expect(await Promise.all(bodies)).toEqual([{ instructions: "Mine" }, { instructions: "Mine" }]);
});

it("without a draft the settings that are shown follow those of the server", async () => {
  const { meanwhile } = settingsServer();
  const view = render(<OrganisationSettings />, { wrapper: WithQueries });
  await screen.findByDisplayValue("Be brief.");
  meanwhile({ instructions: "Theirs" });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  await view.findByDisplayValue("Theirs");
});

it("rules that another administrator saved are shown beside the draft", async () => {
  const rule = { tool: "write_file", action: "deny", arguments: {}, reason: "" };
  const { meanwhile, saved } = settingsServer({
    "GET /api/v1/organization/approvals": () => ({
      body: { server: POLICY, organization: POLICY },
    }),
  });
  render(<Rules />, { wrapper: WithQueries });
  fireEvent.click(await screen.findByRole("button", { name: "Add rule" }));
  fireEvent.change(screen.getByLabelText("Tool"), { target: { value: "execute" } });
  meanwhile({ approvals: { ...POLICY, rules: [rule] } });
  fireEvent.click(screen.getByRole("button", { name: "Save rules" }));
  await screen.findByText("Approval rules: 0 rules → 1 rule");
  screen.getByText("write_file");
  expect(screen.getByLabelText<HTMLInputElement>("Tool").value).toBe("execute");
  screen.getByText("Not saved yet.");
  fireEvent.click(screen.getByRole("button", { name: "Save rules" }));
  await waitFor(() => expect(screen.queryByText("Not saved yet.")).toBeNull());
  expect(saved().approvals).toMatchObject({ rules: [{ tool: "execute" }] });
});

const PROVIDER = {
  id: "p",
  name: "Acme",
  vendor: "openai",
  base_url: "",
  values: {},
  settings: {},
  is_enabled: true,
  has_key: true,
  key_last_four: "4711",
  key_fingerprint: "aaa",
  etag: '"1"',
};

it("a key that is typed is kept when another administrator replaced the key first", async () => {
  let provider = PROVIDER;
  const path = "/api/v1/organization/providers";
  const server = stubServer({
    [`GET ${path}`]: () => ({ body: { data: [provider], next_cursor: null } }),
    "GET /api/v1/organization/models": () => ({ body: { data: [], next_cursor: null } }),
    "GET /api/v1/organization/vendors": () => ({ body: { data: [], next_cursor: null } }),
    [`PATCH ${path}/p`]: (request) =>
      request.headers.get("if-match") === provider.etag ? { body: provider } : CONFLICT,
  });
  render(<Models />, { wrapper: WithQueries });
  fireEvent.click(await screen.findByRole("button", { name: "Replace the key of Acme" }));
  fireEvent.change(screen.getByLabelText(/New API key/), { target: { value: "sk-mine" } });
  provider = { ...PROVIDER, key_fingerprint: "bbb", etag: '"2"' };
  fireEvent.click(screen.getByRole("button", { name: "Replace key" }));
  await screen.findByText("API key: aaa → bbb");
  expect(screen.getByLabelText<HTMLInputElement>(/New API key/).value).toBe("sk-mine");
  fireEvent.click(screen.getByRole("button", { name: "Replace key" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  const tags = server.made(`PATCH ${path}/p`).map(({ request }) => request.headers.get("if-match"));
  expect(tags).toEqual(['"1"', '"2"']);
});
