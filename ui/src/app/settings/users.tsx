import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, asked, keyed, sentenceOf } from "@/api/client";
import type { components } from "@/api/schema.gen";
import { type Me, peopleQuery, queries } from "@/app/me";
import { Button } from "@/kit/button";
import { Field } from "@/kit/field";
import { Cell, Line, Table } from "@/kit/table";
import { say } from "@/kit/toast";
import { words } from "@/words";
import { Loaded } from "./loaded";
import { Section } from "./section";

type User = components["schemas"]["User"];
const says = words.settings;

export function Users({ me }: { me: Me }) {
  const query = useQuery(peopleQuery);
  return (
    <Section title={says.users} hint={says.usersHint}>
      <NewUser />
      <Loaded query={query}>
        {({ users }) => (
          <Table label={says.users} heads={[says.name, says.email, says.role, ""]}>
            {users.map((user) => (
              <UserLine key={user.user_id} user={user} self={user.user_id === me.user.user_id} />
            ))}
          </Table>
        )}
      </Loaded>
    </Section>
  );
}

/** Do it, then look again. */
async function change(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    say(sentenceOf(error), "danger");
  }
  await queries.invalidateQueries({ queryKey: peopleQuery.queryKey });
}

function UserLine({ user, self }: { user: User; self: boolean }) {
  const path = { user_id: user.user_id };
  const admin = user.role === "admin";
  const off = user.disabled_at !== null;
  const setRole = () =>
    asked(
      api.PUT("/api/v1/users/{user_id}/role", {
        params: { path },
        body: { role: admin ? "member" : "admin" },
      }),
    );
  const toggle = () =>
    asked(
      off
        ? api.POST("/api/v1/users/{user_id}/enable", { params: { path } })
        : api.POST("/api/v1/users/{user_id}/disable", { params: { path } }),
    );
  return (
    <Line>
      <Cell>
        {user.name} {self && <span className="text-faint">({says.you})</span>}
        {off && <span className="text-faint"> · {says.disabled}</span>}
      </Cell>
      <Cell>{user.email}</Cell>
      <Cell>{user.role}</Cell>
      <Cell end>
        {!self && (
          <span className="inline-flex gap-2">
            <Button size="small" onClick={() => void change(setRole)}>
              {admin ? says.makeMember : says.makeAdmin}
            </Button>
            <Button size="small" onClick={() => void change(toggle)}>
              {off ? says.enable : says.disable}
            </Button>
          </span>
        )}
      </Cell>
    </Line>
  );
}

function NewUser() {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");

  function add(event: FormEvent): void {
    event.preventDefault();
    const given = password === "" ? null : password;
    const body = { name, email, password: given, role: "member" as const };
    void change(async () => {
      await asked(api.POST("/api/v1/users", { params: { header: keyed() }, body }));
      setName("");
      setEmail("");
      setPassword("");
    });
  }

  return (
    <form onSubmit={add} className="flex flex-wrap items-end gap-3">
      <Field
        label={says.name}
        required
        autoComplete="off"
        value={name}
        onChange={(event) => setName(event.target.value)}
        className="w-44"
      />
      <Field
        label={says.email}
        type="email"
        required
        autoComplete="off"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        className="w-56"
      />
      <Field
        label={says.password}
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        className="w-44"
      />
      <Button type="submit" className="h-9">
        {says.add}
      </Button>
    </form>
  );
}
