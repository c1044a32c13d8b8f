/** Who else may read a chat: found, added, taken out. */

import { type ChatSummary, errorMessage, unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { Link2, Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, BASE } from "@/api/client";
import { type Share, sharesQuery } from "@/api/queries/chats";
import { useMe } from "@/api/queries/me";
import { type User, usersQuery } from "@/api/queries/users";
import { useApiMutation } from "@/api/use-api-mutation";
import { commonStrings } from "@/i18n/en/common";
import { sharingStrings as t } from "@/i18n/en/sharing";
import { copy } from "@/lib/clipboard";
import { useDebounced } from "@/lib/debounce";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { inputStyle } from "@/ui/form-field";
import { showToast } from "@/ui/toast";
import { shareChat, useSharing } from "./sharing-state";

const FOUND_MAX = 6;
const ASKED_MAX = 50;
const SEARCH_AFTER_MS = 200;

export default function Sharing() {
  const chat = useSharing((state) => state.chat);
  if (chat === null) return null;
  return (
    <Dialog open onOpenChange={() => shareChat(null)} title={t.title}>
      <Shares chat={chat} />
    </Dialog>
  );
}

/**
 * Users who could still be added and have these words in their name or e-mail. The server has searched;
 * while its answer is on its way, what was found before is narrowed here.
 */
export function candidates(
  users: readonly User[],
  shares: readonly Share[],
  ownerId: string,
  wanted: string,
): User[] {
  const taken = new Set([ownerId, ...shares.map((share) => share.user_id)]);
  const words = wanted.toLowerCase().split(/\s+/);
  return users.filter((user) => {
    if (taken.has(user.id) || user.disabled_at !== null) return false;
    const known = `${user.name} ${user.email ?? ""}`.toLowerCase();
    return words.every((word) => known.includes(word));
  });
}

function Shares({ chat }: { chat: ChatSummary }) {
  const [wanted, setWanted] = useState("");
  const [done, setDone] = useState("");
  const me = useMe().data?.user.id ?? "";
  const path = { chat_id: chat.id };
  const query = useQuery(sharesQuery(chat.id));
  const shares = query.data?.data ?? [];
  const q = useDebounced(wanted.trim(), SEARCH_AFTER_MS);
  const search = useQuery(usersQuery({ q: q === "" ? undefined : q, limit: ASKED_MAX }));
  const people = search.data?.data;
  const isSearching = q !== wanted.trim() || search.isPlaceholderData;
  const found = candidates(people ?? [], shares, me, wanted.trim());

  const change = useApiMutation({
    request: ({ act }: { act: () => Promise<unknown>; told: string }) => act(),
    isParallel: true,
    invalidates: [sharesQuery(chat.id).queryKey],
    onSuccess: (_, { told }) => setDone(told),
    onError: (sentence) => showToast(sentence, "danger"),
  });

  const add = (user: User) => {
    setWanted("");
    const params = { path: { ...path, user_id: user.id } };
    change.run({
      act: () => unwrap(api.PUT("/api/v1/chats/{chat_id}/shares/{user_id}", { params })),
      told: t.added(user.name),
    });
  };
  const remove = (share: Share) => {
    const params = { path: { ...path, user_id: share.user_id } };
    change.run({
      act: () => unwrap(api.DELETE("/api/v1/chats/{chat_id}/shares/{user_id}", { params })),
      told: t.removed(share.name),
    });
  };
  const noPeople =
    people === undefined || isSearching || found.length > 0
      ? null
      : wanted.trim() !== ""
        ? t.noMatch
        : people.length <= 1
          ? t.noOthers
          : null;
  const link = `${location.origin}${BASE}chats/${chat.id}`;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted text-ui">
        {t.hint} {t.seen}
      </p>
      {/* Who sees the list sees it; no toast, which would take the Escape that closes this. */}
      <p role="status" className="sr-only">
        {done}
      </p>
      <div className="flex flex-col gap-1">
        <input
          // biome-ignore lint/a11y/noAutofocus: what one came for
          autoFocus
          type="search"
          aria-label={t.find}
          placeholder={t.find}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={(event) => {
            const first = found[0];
            if (event.key !== "Enter" || wanted.trim() === "" || first === undefined) return;
            event.preventDefault();
            add(first);
          }}
          className={inputStyle}
        />
        <ul className="flex flex-col">
          {found.slice(0, FOUND_MAX).map((user) => (
            <Person key={user.id} name={user.name} email={user.email}>
              <Button size="small" aria-label={t.addUser(user.name)} onClick={() => add(user)}>
                <Plus aria-hidden />
                {t.add}
              </Button>
            </Person>
          ))}
        </ul>
        {noPeople !== null && <p className="px-1 py-2 text-meta text-muted">{noPeople}</p>}
      </div>
      <section aria-label={t.with}>
        <h3 className="font-medium text-meta text-muted">{t.with}</h3>
        {query.isError && <p className="py-2 text-danger text-ui">{errorMessage(query.error)}</p>}
        {query.data !== undefined && shares.length === 0 && (
          <p className="py-2 text-ui">{t.onlyYou}</p>
        )}
        <ul className="flex flex-col">
          {shares.map((share) => (
            <Person key={share.user_id} name={share.name} email={share.email}>
              <Button
                variant="plain"
                size="iconSmall"
                aria-label={t.remove(share.name)}
                tooltip={t.remove(share.name)}
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
            showToast((await copy(link)) ? commonStrings.copied : commonStrings.copyBlocked)
          }
        >
          <Link2 aria-hidden />
          {t.link}
        </Button>
        <span className="text-faint text-meta">{t.linkHint}</span>
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
