/** The members of the organisation: invite, help after a lost password, roles, sessions. */
import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { useEffect, useState } from "react";
import { api, BASE } from "@/api/client";
import { type Person, peopleQuery } from "@/api/queries/admin";
import type { Me } from "@/api/queries/me";
import { USERS_KEY, type User } from "@/api/queries/users";
import { type ApiMutation, useApiMutation } from "@/api/use-api-mutation";
import { pagingOf, type TableAddress } from "@/features/settings/paging";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { useDebounced } from "@/lib/debounce";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { DataTable } from "@/ui/data-table";
import { Dialog } from "@/ui/dialog";
import { EmptyState } from "@/ui/empty-state";
import { Form } from "@/ui/form";
import { FormField, inputStyle, TextField } from "@/ui/form-field";
import { Menu, MenuItem, MenuLine } from "@/ui/menu";
import { Select } from "@/ui/select";
import { showToast } from "@/ui/toast";
import type { AdminSearch } from "./sections";

type AdminAddress = TableAddress<AdminSearch>;

type Role = User["role"];

/** A link that was just made. */
interface MadeLink {
  readonly name: string;
  readonly url: string;
  readonly until: string;
}

export function People({ me, ...address }: { me: Me } & AdminAddress) {
  const { q, after } = address.search;
  const query = useQuery(peopleQuery({ q, cursor: after }));
  const [link, setLink] = useState<MadeLink | null>(null);
  const own = me.user.id;
  return (
    <Section title={t.sections.people} hint={t.peopleHint}>
      <NewPerson onLink={setLink} />
      <Search {...address} />
      <QueryResult query={query}>
        {({ data: people, next_cursor }) =>
          people.length === 0 ? (
            <EmptyState title={t.noPeople} />
          ) : (
            <DataTable
              label={t.sections.people}
              columns={[
                {
                  header: t.name,
                  cell: (person) => <Name person={person} self={person.id === own} />,
                },
                { header: t.role, cell: (person) => t.roles[person.role] },
                { header: t.status, cell: statusOf },
                { header: t.lastSeen, cell: lastSeen },
                {
                  header: "",
                  cell: (person) => (
                    <Actions person={person} self={person.id === own} onLink={setLink} />
                  ),
                },
              ]}
              rows={people}
              rowKey={(person) => person.id}
              paging={pagingOf(address, next_cursor)}
            />
          )
        }
      </QueryResult>
      <LinkDialog link={link} onClose={() => setLink(null)} />
    </Section>
  );
}

function Name({ person, self }: { person: Person; self: boolean }) {
  return (
    <>
      <span className="[overflow-wrap:anywhere] sm:whitespace-nowrap">
        {person.name} {self && <span className="text-faint">({t.you})</span>}
      </span>
      <span className="block text-meta text-muted [overflow-wrap:anywhere]">{person.email}</span>
    </>
  );
}

function statusOf(person: Person): string {
  if (person.disabled_at !== null) return t.disabled;
  if (person.link_expires_at !== null) return t.invited;
  return person.has_password || person.last_seen_at !== null ? t.enabled : t.noPassword;
}

function lastSeen(person: Person) {
  return (
    <span className="whitespace-nowrap">
      {person.last_seen_at === null ? t.never : new Date(person.last_seen_at).toLocaleString()}
      {person.session_count > 0 && (
        <span className="block text-meta text-muted">{t.sessions(person.session_count)}</span>
      )}
    </span>
  );
}

async function makeLink(user: { id: string; name: string }): Promise<MadeLink> {
  const made = await unwrap(
    api.POST("/api/v1/users/{user_id}/link", { params: { path: { user_id: user.id } } }),
  );
  return {
    name: user.name,
    url: `${location.origin}${BASE}#invite=${made.token}`,
    until: new Date(made.expires_at).toLocaleString(),
  };
}

interface ActionsProps {
  readonly person: Person;
  readonly self: boolean;
  readonly onLink: (link: MadeLink) => void;
}

function Actions({ person, self, onLink }: ActionsProps) {
  const [asks, setAsks] = useState(false);
  const params = { path: { user_id: person.id } };
  const onError = (sentence: string) => showToast(sentence, "danger");
  const change = useApiMutation({
    request: (body: { role: Role } | { disabled: boolean }) =>
      unwrap(api.PATCH("/api/v1/users/{user_id}", { params, body })),
    invalidates: [USERS_KEY],
    onSuccess: (changed, body) => {
      if ("disabled" in body && body.disabled)
        showToast(t.disabledWith(changed.name, changed.revoked_api_key_count));
    },
    onError,
  });
  const link = useApiMutation({
    request: () => makeLink(person),
    invalidates: [USERS_KEY],
    onSuccess: onLink,
    onError,
  });
  const end = useApiMutation({
    request: () => unwrap(api.DELETE("/api/v1/users/{user_id}/sessions", { params })),
    invalidates: [USERS_KEY],
    onSuccess: () => showToast(t.sessionsEnded(person.name)),
    onError,
  });
  if (self) return null;
  const isDisabled = person.disabled_at !== null;
  const isAdmin = person.role === "admin";
  return (
    <>
      <Menu
        trigger={
          <Button variant="plain" size="iconSmall" aria-label={t.more(person.name)}>
            <Ellipsis />
          </Button>
        }
      >
        {!isDisabled && <MenuItem onSelect={() => link.run(undefined)}>{t.makeLink}</MenuItem>}
        <MenuItem onSelect={() => change.run({ role: isAdmin ? "member" : "admin" })}>
          {isAdmin ? t.makeMember : t.makeAdmin}
        </MenuItem>
        {person.session_count > 0 && (
          <MenuItem onSelect={() => end.run(undefined)}>{t.endSessions}</MenuItem>
        )}
        <MenuLine />
        {isDisabled ? (
          <MenuItem onSelect={() => change.run({ disabled: false })}>{t.enable}</MenuItem>
        ) : (
          <MenuItem onSelect={() => setTimeout(() => setAsks(true))}>{t.disable}</MenuItem>
        )}
      </Menu>
      <AlertDialog
        open={asks}
        onOpenChange={setAsks}
        title={t.disableTitle(person.name)}
        description={t.disableHint}
        confirm={t.disable}
        onConfirm={() => change.run({ disabled: true })}
      />
    </>
  );
}

function LinkDialog({ link, onClose }: { link: MadeLink | null; onClose: () => void }) {
  return (
    <Dialog
      open={link !== null}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={t.linkTitle(link?.name ?? "")}
    >
      {link !== null && (
        <div className="flex flex-col gap-3">
          <p className="text-muted text-ui">{t.linkHint(link.until)}</p>
          <div className="flex items-end gap-2">
            <TextField
              label={t.linkLabel}
              readOnly
              value={link.url}
              onFocus={(event) => event.target.select()}
              className="min-w-0 flex-1"
            />
            <CopyButton text={() => link.url} label={t.copyLink} size="icon" />
          </div>
        </div>
      )}
    </Dialog>
  );
}

const SEARCH_AFTER_MS = 200;

/** The words are in the address, once typing has paused; a new search begins at the first page. */
function Search({ search, onSearch }: AdminAddress) {
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
      aria-label={t.find}
      placeholder={t.find}
      value={wanted}
      maxLength={200}
      onChange={(event) => setWanted(event.target.value)}
      className={inputStyle}
    />
  );
}

function NewPerson({ onLink }: { onLink: (link: MadeLink) => void }) {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const add: ApiMutation<undefined> = useApiMutation({
    request: async (_: undefined, header) => {
      const body = { name, email, password: null, role };
      const user = await unwrap(api.POST("/api/v1/users", { params: { header }, body }));
      return makeLink(user);
    },
    invalidates: [USERS_KEY],
    onSuccess: (link) => {
      setName("");
      setEmail("");
      setRole("member");
      onLink(link);
    },
  });
  return (
    <Form
      submission={add}
      onSubmit={() => add.run(undefined)}
      submitLabel={t.invite}
      fields={["/name", "/email"]}
    >
      <TextField
        label={t.name}
        required
        autoComplete="off"
        error={add.fieldErrors["/name"]}
        value={name}
        onChange={(event) => setName(event.target.value)}
        className="w-full sm:w-auto sm:flex-1 sm:basis-32"
      />
      <TextField
        label={t.email}
        type="email"
        required
        autoComplete="off"
        error={add.fieldErrors["/email"]}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        className="w-full sm:w-auto sm:flex-1 sm:basis-44"
      />
      <FormField label={t.role} className="w-38">
        {(control) => (
          <Select
            {...control}
            value={role}
            options={[
              ["member", t.roles.member],
              ["admin", t.roles.admin],
            ]}
            onChange={(chosen) => setRole(chosen === "admin" ? "admin" : "member")}
          />
        )}
      </FormField>
    </Form>
  );
}
