/** The chats of all members, without what they say: what runs can be stopped. */
import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { ORGANISATION_CHATS_KEY, type OverseenChat, overseenChatsQuery } from "@/api/queries/admin";
import { usersQuery } from "@/api/queries/users";
import { useApiMutation } from "@/api/use-api-mutation";
import { pagingOf, type TableAddress } from "@/features/settings/paging";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { DataTable } from "@/ui/data-table";
import { EmptyState } from "@/ui/empty-state";
import { showToast } from "@/ui/toast";
import type { AdminSearch } from "./sections";

const NAMES_MAX = 200;

export function Chats(address: TableAddress<AdminSearch>) {
  const query = useQuery(overseenChatsQuery(address.search.after));
  const users = useQuery(usersQuery({ limit: NAMES_MAX })).data?.data ?? [];
  const nameOf = (id: string) => users.find((each) => each.id === id)?.name ?? id;
  return (
    <Section title={t.sections.chats} hint={t.chatsHint}>
      <QueryResult query={query}>
        {({ data: chats, next_cursor }) =>
          chats.length === 0 ? (
            <EmptyState title={t.noChats} />
          ) : (
            <DataTable
              label={t.sections.chats}
              columns={[
                { header: t.owner, cell: (chat) => nameOf(chat.owner_id) },
                { header: t.status, cell: (chat) => t.chatStatus[chat.status] },
                { header: t.updated, cell: (chat) => new Date(chat.updated_at).toLocaleString() },
                {
                  header: t.chatId,
                  cell: (chat) => <span className="font-mono text-code text-muted">{chat.id}</span>,
                },
                {
                  header: "",
                  cell: (chat) => <Stop chat={chat} owner={nameOf(chat.owner_id)} />,
                },
              ]}
              rows={chats}
              rowKey={(chat) => chat.id}
              paging={pagingOf(address, next_cursor)}
            />
          )
        }
      </QueryResult>
    </Section>
  );
}

function Stop({ chat, owner }: { chat: OverseenChat; owner: string }) {
  const [asks, setAsks] = useState(false);
  const stop = useApiMutation({
    request: (_: undefined, header) =>
      unwrap(
        api.POST("/api/v1/organization/chats/{chat_id}/stop", {
          params: { path: { chat_id: chat.id }, header },
        }),
      ),
    invalidates: [ORGANISATION_CHATS_KEY],
    onSuccess: () => showToast(t.chatStopped(owner)),
    onError: (sentence: string) => showToast(sentence, "danger"),
  });
  if (chat.status !== "running" && chat.status !== "awaiting") return null;
  return (
    <>
      <Button variant="plain" aria-label={t.stopChatOf(owner)} onClick={() => setAsks(true)}>
        {t.stopChat}
      </Button>
      <AlertDialog
        open={asks}
        onOpenChange={setAsks}
        title={t.stopChatOf(owner)}
        description={t.stopChatHint}
        confirm={t.stopChat}
        onConfirm={() => stop.run(undefined)}
      />
    </>
  );
}
