import { describe, expect, it } from "vitest";
import { candidates } from "./sharing";

const user = (name: string, disabled_at: string | null = null) => ({
  id: name.toLowerCase(),
  name,
  email: `${name.toLowerCase()}@acme.example`,
  role: "member" as const,
  has_password: true,
  created_at: "",
  disabled_at,
});
const USERS = [user("Ada"), user("Grace"), user("Edsger"), user("Gone", "2026-01-01")];
const names = (wanted: string, shared: string[] = []) =>
  candidates(
    USERS,
    shared.map((name) => ({ user_id: name, name, email: null })),
    "ada",
    wanted,
  ).map(({ name }) => name);

describe("who can be added to a chat", () => {
  it("is everybody but its owner, who has it already, and who is gone", () => {
    expect(names("")).toEqual(["Grace", "Edsger"]);
    expect(names("", ["grace"])).toEqual(["Edsger"]);
  });

  it("is found by name and e-mail, in any case and order", () => {
    expect(names("GRA")).toEqual(["Grace"]);
    expect(names("acme edsger")).toEqual(["Edsger"]);
    expect(names("nobody")).toEqual([]);
  });
});
