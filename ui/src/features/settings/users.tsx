import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api } from "@/api/client";
import type { Me } from "@/api/queries/me";
import { USERS_KEY, type User, usersQuery } from "@/api/queries/users";
import { useApiMutation } from "@/api/use-api-mutation";
import { settingsStrings as t } from "@/i18n/en/settings";
import { useDebounced } from "@/lib/debounce";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { DataTable } from "@/ui/data-table";
import { EmptyState } from "@/ui/empty-state";
import { Form } from "@/ui/form";
import { inputStyle, TextField } from "@/ui/form-field";
import { showToast } from "@/ui/toast";
import { pagingOf, type TableAddress } from "./paging";
import { QueryResult } from "./query-result";
import { Section } from "./section";

export function Users({ me, ...address }: { me: Me } & TableAddress) {
  const { q, after } = address.search;
  const query = useQuery(usersQuery({ q, cursor: after }));
  const own = me.user.id;
  return (
    <Section title={t.sections.users} hint={t.usersHint}>
      <NewUser />
      <Search {...address} />
      <QueryResult query={query}>
        {({ data: users, next_cursor }) =>
          users.length === 0 ? (
            <EmptyState title={t.noUsers} />
          ) : (
            <DataTable
              label={t.sections.users}
              columns={[
                {
                  header: t.name,
                  cell: (user) => <Name user={user} self={user.id === own} />,
                },
                { header: t.email, cell: (user) => user.email },
                { header: t.role, cell: (user) => t.roles[user.role] },
                {
                  header: "",
                  cell: (user) => (user.id === own ? null : <UserActions user={user} />),
                },
              ]}
              rows={users}
              rowKey={(user) => user.id}
              paging={pagingOf(address, next_cursor)}
            />
          )
        }
      </QueryResult>
    </Section>
  );
}

const SEARCH_AFTER_MS = 200;

/** The words are in the address, once typing has paused; a new search begins at the first page. */
function Search({ search, onSearch }: TableAddress) {
  const [wanted, setWanted] = useState(search.q ?? "");
  const rested = useDebounced(wanted.trim(), SEARCH_AFTER_MS);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed changes the address
  useEffect(() => {
    if (rested !== (search.q ?? "")) onSearch({ q: rested === "" ? undefined : rested }, true);
  }, [rested]);
  // The address changes by the back button, too.
  useEffect(() => {
    setWanted((now) => (now.trim() === (search.q ?? "") ? now : (search.q ?? "")));
  }, [search.q]);
  return (
    <input
      type="search"
      aria-label={t.findUsers}
      placeholder={t.findUsers}
      value={wanted}
      maxLength={200}
      onChange={(event) => setWanted(event.target.value)}
      className={inputStyle}
    />
  );
}

function Name({ user, self }: { user: User; self: boolean }) {
  return (
    <>
      {user.name} {self && <span className="text-faint">({t.you})</span>}
      {user.disabled_at !== null && <span className="text-faint"> · {t.disabled}</span>}
    </>
  );
}

function UserActions({ user }: { user: User }) {
  const params = { path: { user_id: user.id } };
  const isAdmin = user.role === "admin";
  const isDisabled = user.disabled_at !== null;
  const change = useApiMutation({
    request: (body: { role: User["role"] } | { disabled: boolean }) =>
      unwrap(api.PATCH("/api/v1/users/{user_id}", { params, body })),
    invalidates: [USERS_KEY],
    onError: (sentence) => showToast(sentence, "danger"),
  });
  return (
    <span className="inline-flex gap-2">
      <Button
        size="small"
        aria-disabled={change.isPending}
        onClick={() => change.run({ role: isAdmin ? "member" : "admin" })}
      >
        {isAdmin ? t.makeMember : t.makeAdmin}
      </Button>
      {isDisabled ? (
        <Button
          size="small"
          aria-label={t.enableUser(user.name)}
          aria-disabled={change.isPending}
          onClick={() => change.run({ disabled: false })}
        >
          {t.enable}
        </Button>
      ) : (
        <AlertDialog
          trigger={
            <Button
              size="small"
              aria-label={t.disableUser(user.name)}
              aria-disabled={change.isPending}
            >
              {t.disable}
            </Button>
          }
          title={t.disableTitle(user.name)}
          description={t.disableHint}
          confirm={t.disable}
          onConfirm={() => change.run({ disabled: true })}
        />
      )}
    </span>
  );
}

function NewUser() {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");

  const add = useApiMutation({
    request: (_: undefined, header) => {
      const given = password === "" ? null : password;
      const body = { name, email, password: given, role: "member" as const };
      return unwrap(api.POST("/api/v1/users", { params: { header }, body }));
    },
    invalidates: [USERS_KEY],
    onSuccess: () => {
      setName("");
      setEmail("");
      setPassword("");
    },
  });
  return (
    <Form
      submission={add}
      onSubmit={() => add.run(undefined)}
      submitLabel={t.add}
      fields={["/name", "/email", "/password"]}
    >
      <TextField
        label={t.name}
        required
        autoComplete="off"
        error={add.fieldErrors["/name"]}
        value={name}
        onChange={(event) => setName(event.target.value)}
        className="w-44"
      />
      <TextField
        label={t.email}
        type="email"
        required
        autoComplete="off"
        error={add.fieldErrors["/email"]}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        className="w-56"
      />
      <TextField
        label={t.password}
        type="password"
        autoComplete="new-password"
        error={add.fieldErrors["/password"]}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        className="w-44"
      />
    </Form>
  );
}
