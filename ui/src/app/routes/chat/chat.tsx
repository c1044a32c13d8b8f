/** A chat, or the beginning of one. */
import { type Branch, type ChatSummary, unwrap } from "@holdfast/client";
import { type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type ReactNode, useEffect, useEffectEvent, useMemo, useState } from "react";
import { api } from "@/api/client";
import { branchesQuery, chatQuery } from "@/api/queries/chats";
import { useMe } from "@/api/queries/me";
import { type Models, modelsQuery, templatesQuery } from "@/api/queries/models";
import { type User, userQuery } from "@/api/queries/users";
import { listedOf, useEntry } from "@/engine/chat-list";
import { useLog } from "@/engine/chat-store";
import { outbox } from "@/engine/outbox";
import type { Sending } from "@/engine/rows";
import {
  type ChatSession,
  ChatSessionProvider,
  Composer,
  chatSessions,
  createPaneRefs,
  focusComposer,
  NEW_CHAT,
  offerDraft,
  Pane,
  Pending,
  sendingOf,
  Transcript,
} from "@/features/chat";
import { ChatMenu } from "@/features/chat-list/chat-menu";
import { bringBack, rename } from "@/features/chat-list/organise";
import { usePageTitle } from "@/features/chat-list/page-title";
import { chatStrings } from "@/i18n/en/chat";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "@/ui/button";
import { EmptyState } from "@/ui/empty-state";
import { MenuItem } from "@/ui/menu";
import { ContextMeter } from "./meter";
import { PlanPanel } from "./plan-panel";
import { RunState } from "./run-state";

const t = chatStrings.chat;

export function NewChat() {
  const [refs] = useState(createPaneRefs);
  return (
    <Pane refs={refs}>
      <Beginning />
    </Pane>
  );
}

function Beginning() {
  const models = useQuery(modelsQuery).data;
  const unsent = useBeginnings();
  usePageTitle(null);
  const isStarting = unsent.some((each) => each.state !== "failed");
  return (
    <main aria-label={t.conversation} className="flex min-h-0 flex-1 flex-col">
      <div className="flex min-h-0 flex-1 flex-col items-center justify-center px-4">
        <h1 className="font-semibold text-title">{t.hello}</h1>
        <p className="mt-1 max-w-96 text-center text-muted text-ui">{t.helloHint}</p>
        <Suggestions />
      </div>
      {unsent.length > 0 && (
        <section
          aria-label={t.unsent}
          className="mx-auto max-h-[50dvh] w-full max-w-(--column) space-y-2 overflow-auto px-4"
        >
          {unsent.map((sending) => (
            <Pending key={sending.clientKey} sending={sending} actions={outbox} chatId={NEW_CHAT} />
          ))}
        </section>
      )}
      <Composer
        chatId={null}
        log={null}
        actions={null}
        models={models?.models ?? []}
        defaultModel={models?.default ?? null}
        cards={models?.cards ?? {}}
        efforts={models?.efforts ?? {}}
        searches={models?.searches ?? {}}
        onSend={(draft) => void outbox.add(null, draft, "queue")}
        refused={isStarting ? t.starting : null}
      />
    </main>
  );
}

/** Messages that begin a chat and did not reach the server yet. When one has, its chat is opened. */
function useBeginnings(): readonly Sending[] {
  const navigate = useNavigate();
  const [unsent, setUnsent] = useState<readonly Sending[]>([]);
  const open = useEffectEvent((chatId: string) => {
    void navigate({ to: "/chats/$chatId", params: { chatId } });
  });
  useEffect(() => {
    const without = (clientKey: string) => (known: readonly Sending[]) =>
      known.filter((each) => each.clientKey !== clientKey);
    const detach = outbox.attach(null, {
      changed: (message, state) => {
        const sending = sendingOf(message, state);
        setUnsent((known) => {
          const isKnown = known.some(({ clientKey }) => clientKey === sending.clientKey);
          if (!isKnown) return [...known, sending];
          return known.map((each) => (each.clientKey === sending.clientKey ? sending : each));
        });
      },
      landed: (message, receipt) => {
        setUnsent(without(message.clientKey));
        open(receipt.chat_id);
      },
      gone: (clientKey) => setUnsent(without(clientKey)),
    });
    return () => {
      detach();
      setUnsent([]);
    };
  }, []);
  return unsent;
}

/** Something to begin with, for who has never been here; it goes into the field, not to the model. */
function Suggestions() {
  const offered = useQuery(templatesQuery).data?.data.length ?? 0;
  const shown = t.suggested.filter((each) => offered > 0 || !each.needsWorkspace);
  return (
    <ul aria-label={t.suggestions} className="mt-4 flex flex-wrap justify-center gap-2">
      {shown.map(({ title, text }) => (
        <li key={title}>
          <Button
            onClick={() => {
              offerDraft(NEW_CHAT, text);
              focusComposer();
            }}
          >
            {title}
          </Button>
        </li>
      ))}
    </ul>
  );
}

// By its path: to import the route itself would be a cycle.
const route = getRouteApi("/chats/$chatId");

export function ChatPage() {
  const { chatId } = route.useParams();
  const { m } = route.useSearch();
  return <ChatPane key={chatId} chatId={chatId} seq={m} />;
}

interface ChatPaneProps {
  readonly chatId: string;
  /** Of the message that the address names. */
  readonly seq: number | undefined;
}

function ChatPane({ chatId, seq }: ChatPaneProps) {
  const [session] = useState(() => chatSessions.open(chatId));
  useEffect(() => session.follow(), [session]);
  return (
    <ChatSessionProvider session={session}>
      <Chat session={session} seq={seq} />
    </ChatSessionProvider>
  );
}

interface ChatProps {
  readonly session: ChatSession;
  readonly seq: number | undefined;
}

function Chat({ session, seq }: ChatProps) {
  const { chatId } = session.log;
  const state = useLog(session.log, (now) => now.state);
  const entry = useChatEntry(session);
  const models = useQuery(modelsQuery).data;
  const me = useMe().data;
  const own = entry !== undefined && entry.owner_id === me?.user.id;
  const paths = usePaths(session, own);
  const authors = useAuthors(session, entry, me?.user.id);
  usePageTitle(entry?.title ?? commonStrings.noTitle, {
    chatId,
    running: entry?.status === "running",
  });
  useRead(session, entry);
  if (state === "unavailable") {
    return (
      <main aria-label={t.conversation} className="flex flex-1 items-center justify-center">
        <EmptyState title={t.missing} />
      </main>
    );
  }
  const mayWrite = own && !entry.archived;
  const owner = entry === undefined ? undefined : authors.get(entry.owner_id);
  return (
    <main aria-label={t.conversation} className="flex min-h-0 flex-1 flex-col">
      <Header entry={entry} own={own} mayWrite={mayWrite} session={session} models={models} />
      {entry?.archived && (
        <Banner text={t.archivedBanner(own)}>
          {own && (
            <Button size="small" onClick={() => void bringBack(chatId)}>
              {t.bringBack}
            </Button>
          )}
        </Banner>
      )}
      {entry !== undefined && !own && <Banner text={t.readOnly(owner)} />}
      <Transcript
        models={models?.models ?? []}
        mayWrite={mayWrite}
        paths={paths}
        authors={authors}
        seq={seq}
      />
      <PlanPanel log={session.log} />
      {mayWrite && (
        <Composer
          chatId={chatId}
          log={session.log}
          actions={session.actions}
          models={models?.models ?? []}
          defaultModel={models?.default ?? null}
          cards={models?.cards ?? {}}
          efforts={models?.efforts ?? {}}
          searches={models?.searches ?? {}}
          onSend={session.actions.send}
          refused={null}
        />
      )}
    </main>
  );
}

/** From the list, which is told of changes; what is not in it is asked for. */
function useChatEntry({ log }: ChatSession): ChatSummary | undefined {
  const listed = useEntry(log.chatId);
  const status = useLog(log, (now) => now.view.state);
  const looked = useQuery({
    ...chatQuery(log.chatId, status?.archived),
    enabled: listed === undefined,
  });
  return listed ?? (looked.data && listedOf(looked.data));
}

const NO_PATHS: readonly Branch[] = [];

/** Histories that edits left behind, which only the owner reads; asked for anew when the history was cut. */
function usePaths({ log }: ChatSession, own: boolean): readonly Branch[] {
  const cuts = useLog(log, (now) => now.cuts);
  const isOpen = useLog(log, (now) => now.state === "open");
  const query = useQuery({ ...branchesQuery(log.chatId, cuts), enabled: isOpen && own });
  return query.data?.data ?? NO_PATHS;
}

const NO_AUTHORS: ReadonlyMap<string, string> = new Map();

/** Names of the other users who own this chat or wrote in it; without any, no request is made. */
function useAuthors(
  { log }: ChatSession,
  entry: ChatSummary | undefined,
  me: string | undefined,
): ReadonlyMap<string, string> {
  const writers = useLog(log, (now) => writersOf(now.view.messages)); // text: equal if unchanged
  const others = useMemo(() => {
    const ids = new Set([...writers.split(" "), entry?.owner_id ?? ""]);
    return me === undefined ? [] : [...ids].filter((id) => id !== "" && id !== me);
  }, [writers, entry?.owner_id, me]);
  return useQueries({ queries: others.map(userQuery), combine: namesOf });
}

type Messages = readonly { readonly author_id?: string | null }[];
const WRITERS = new WeakMap<Messages, string>();

/** Once per list of messages: the store asks in every frame. */
function writersOf(messages: Messages): string {
  const known = WRITERS.get(messages);
  if (known !== undefined) return known;
  const writers = [...new Set(messages.map((message) => message.author_id ?? ""))].join(" ");
  WRITERS.set(messages, writers);
  return writers;
}

function namesOf(users: readonly UseQueryResult<User>[]): ReadonlyMap<string, string> {
  const known = users.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return known.length === 0 ? NO_AUTHORS : new Map(known.map((user) => [user.id, user.name]));
}

const READ_AFTER_MS = 1000;

/** What was on the screen of a focused tab for a second has been read. */
function useRead({ log }: ChatSession, entry: ChatSummary | undefined): void {
  const last = useLog(log, (now) => now.view.messages.at(-1)?.seq ?? 0);
  const readSeq = entry?.read_seq ?? Number.POSITIVE_INFINITY;
  const [focused, setFocused] = useState(document.hasFocus());
  useEffect(() => {
    const look = () => setFocused(document.hasFocus());
    window.addEventListener("focus", look);
    window.addEventListener("blur", look);
    return () => {
      window.removeEventListener("focus", look);
      window.removeEventListener("blur", look);
    };
  }, []);
  useEffect(() => {
    if (!focused || last <= readSeq) return;
    const timer = setTimeout(() => {
      const params = { path: { chat_id: log.chatId } };
      unwrap(api.PUT("/api/v1/chats/{chat_id}/read-marker", { params, body: { seq: last } })).catch(
        () => {}, // the next message tries again
      );
    }, READ_AFTER_MS);
    return () => clearTimeout(timer);
  }, [focused, last, readSeq, log]);
}

function Banner({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <div className="flex min-h-9 items-center gap-3 border-line border-b bg-subtle px-4 py-1 text-ui">
      <span className="min-w-0 flex-1">{text}</span>
      {children}
    </div>
  );
}

interface HeaderProps {
  readonly entry: ChatSummary | undefined;
  readonly own: boolean;
  readonly mayWrite: boolean;
  readonly session: ChatSession;
  readonly models: Models | undefined;
}

function Header({ entry, own, mayWrite, session, models }: HeaderProps) {
  const [renaming, setRenaming] = useState<string | null>(null);
  const title = entry?.title ?? commonStrings.noTitle;
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-line border-b pr-2 pl-12 min-[1000px]:[nav~div_&]:pl-4">
      {renaming !== null && entry !== undefined ? (
        <form
          className="min-w-0 flex-1"
          onSubmit={(event) => {
            event.preventDefault();
            void rename(entry, renaming);
            setRenaming(null);
          }}
        >
          <input
            aria-label={t.rename}
            // biome-ignore lint/a11y/noAutofocus: it was asked for just now
            autoFocus
            value={renaming}
            maxLength={200}
            onChange={(event) => setRenaming(event.target.value)}
            onBlur={() => {
              void rename(entry, renaming);
              setRenaming(null);
            }}
            onKeyDown={(event) => event.key === "Escape" && setRenaming(null)}
            className="h-8 w-full max-w-[30rem] rounded-control border border-line-strong bg-raised px-2 font-semibold"
          />
        </form>
      ) : (
        <h1 className="min-w-0 flex-1 truncate font-semibold text-ui">
          {own ? (
            <button
              type="button"
              data-tooltip={t.rename}
              aria-description={t.rename}
              onClick={() => setRenaming(entry?.title ?? "")}
              className="max-w-full truncate rounded-control px-1 hover:bg-hover"
            >
              {title}
            </button>
          ) : (
            title
          )}
        </h1>
      )}
      <RunState log={session.log} />
      <Button
        variant="plain"
        size="icon"
        className={own ? "max-sm:hidden" : undefined}
        aria-label={chatStrings.find.open}
        tooltip={chatStrings.find.open}
        onClick={session.openFind}
      >
        <Search />
      </Button>
      <ContextMeter log={session.log} models={models} actions={mayWrite ? session.actions : null} />
      {own && entry !== undefined && (
        <ChatMenu chat={entry} onRename={() => setRenaming(entry.title ?? "")} size="icon">
          <MenuItem className="sm:hidden" onSelect={() => setTimeout(session.openFind)}>
            <Search />
            {chatStrings.find.open}
          </MenuItem>
        </ChatMenu>
      )}
    </header>
  );
}
