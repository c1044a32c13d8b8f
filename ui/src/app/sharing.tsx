/** Who else may read a chat: found, added, taken out. */
import { useQuery } from "@tanstack/react-query";
import { Link2, Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, asked, BASE, sentenceOf } from "@/api/client";
import type { components } from "@/api/schema.gen";
import { Button } from "@/kit/button";
import { copy } from "@/kit/copy";
import { Dialog } from "@/kit/dialog";
import { inputLook } from "@/kit/field";
import { say } from "@/kit/toast";
import type { ChatEntry } from "@/log/types";
import { words } from "@/words";
import { peopleQuery, queries, useMe } from "./me";
import { shareChat, useSharing } from "./sharing-state";

type User = components["schemas"]["User"];
type Share = components["schemas"]["Share"];
const says = words.sharing;
const FOUND_MAX = 6;

export default function Sharing() {
  const chat = useSharing((state) => state.chat);
  if (chat === null) return null;
  return (
    <Dialog open onOpenChange={() => shareChat(null)} title={says.title}>
      <Shares chat={chat} />
    </Dialog>
  );
}

/** Those who could still be added and have these words in their name or e-mail. */
export function candidates(
  users: readonly User[],
  shares: readonly Share[],
  ownerId: string,
  wanted: string,
): User[] {
  const taken = new Set([ownerId, ...shares.map((share) => share.user_id)]);
  const words = wanted.toLowerCase().split(/\s+/);
  return users.filter((user) => {
    if (taken.has(user.user_id) || user.disabled_at !== null) return false;
    const known = `${user.name} ${user.email ?? ""}`.toLowerCase();
    return words.every((word) => known.includes(word));
  });
}

function Shares({ chat }: { chat: ChatEntry }) {
  const [wanted, setWanted] = useState("");
  const [done, setDone] = useState("");
  const me = useMe().data?.user.user_id ?? "";
  const path = { chat_id: chat.chat_id };
  const key = ["shares", chat.chat_id];
  const query = useQuery({
    queryKey: key,
    queryFn: () => asked(api.GET("/api/v1/chats/{chat_id}/shares", { params: { path } })),
  });
  const people = useQuery(peopleQuery).data?.users;
  const shares = query.data?.shares ?? [];
  const found = candidates(people ?? [], shares, me, wanted.trim());

  async function change(act: () => Promise<unknown>, told: string): Promise<void> {
    try {
      await act();
      setDone(told);
    } catch (error) {
      say(sentenceOf(error), "danger");
    }
    await queries.invalidateQueries({ queryKey: key });
  }

  const add = (user: User) => {
    setWanted("");
    const params = { path: { ...path, user_id: user.user_id } };
    void change(
      () => asked(api.PUT("/api/v1/chats/{chat_id}/shares/{user_id}", { params })),
      says.added(user.name),
    );
  };
  const remove = (share: Share) => {
    const params = { path: { ...path, user_id: share.user_id } };
    void change(
      () => asked(api.DELETE("/api/v1/chats/{chat_id}/shares/{user_id}", { params })),
      says.removed(share.name),
    );
  };
  const noPeople =
    people === undefined || found.length > 0
      ? null
      : wanted.trim() !== ""
        ? says.noMatch
        : people.length <= 1
          ? says.noOthers
          : null;
  const link = `${location.origin}${BASE}chats/${chat.chat_id}`;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted text-ui">{says.hint}</p>
      {/* Who sees the list sees it; no toast, which would take the Escape that closes this. */}
      <p role="status" className="sr-only">
        {done}
      </p>
      <div className="flex flex-col gap-1">
        <input
          // biome-ignore lint/a11y/noAutofocus: what one came for
          autoFocus
          type="search"
          aria-label={says.find}
          placeholder={says.find}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={(event) => {
            const first = found[0];
            if (event.key !== "Enter" || wanted.trim() === "" || first === undefined) return;
            event.preventDefault();
            add(first);
          }}
          className={inputLook}
        />
        <ul className="flex flex-col">
          {found.slice(0, FOUND_MAX).map((user) => (
            <Person key={user.user_id} name={user.name} email={user.email}>
              <Button
                size="small"
                aria-label={`${says.add} ${user.name}`}
                onClick={() => add(user)}
              >
                <Plus aria-hidden />
                {says.add}
              </Button>
            </Person>
          ))}
        </ul>
        {noPeople !== null && <p className="px-1 py-2 text-meta text-muted">{noPeople}</p>}
      </div>
      <section aria-label={says.with}>
        <h3 className="font-medium text-meta text-muted">{says.with}</h3>
        {query.isError && <p className="py-2 text-danger text-ui">{sentenceOf(query.error)}</p>}
        {query.data !== undefined && shares.length === 0 && (
          <p className="py-2 text-ui">{says.onlyYou}</p>
        )}
        <ul className="flex flex-col">
          {shares.map((share) => (
            <Person key={share.user_id} name={share.name} email={share.email}>
              <Button
                look="plain"
                size="iconSmall"
                aria-label={says.remove(share.name)}
                title={says.remove(share.name)}
                onClick={() => remove(share)}
              >
                <X aria-hidden />
              </Button>
            </Person>
          ))}
        </ul>
      </section>
      <div className="flex items-center gap-3 border-line border-t pt-3">
        <Button
          onClick={async () =>
            say((await copy(link)) ? words.settings.copied : words.settings.copyFailed)
          }
        >
          <Link2 aria-hidden />
          {says.link}
        </Button>
        <span className="text-faint text-meta">{says.linkHint}</span>
      </div>
    </div>
  );
}

interface PersonProps {
  readonly name: string;
  readonly email: string | null;
  readonly children: ReactNode;
}

function Person({ name, email, children }: PersonProps) {
  return (
    <li className="flex min-h-9 items-center gap-2 px-1">
      <span className="min-w-0 flex-1 truncate text-ui">
        {name} <span className="text-faint">{email}</span>
      </span>
      {children}
    </li>
  );
}
