/** A chat, or the beginning of one. */
import {
  type Branch,
  type ChatSummary,
  createId,
  errorMessage,
  idempotencyHeader,
  unwrap,
  withRetry,
} from "@holdfast/client";
import { type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { api } from "@/api/client";
import { branchesQuery, chatQuery } from "@/api/queries/chats";
import { useMe } from "@/api/queries/me";
import { type Models, modelsQuery, templatesQuery } from "@/api/queries/models";
import { type User, userQuery } from "@/api/queries/users";
import type { Draft } from "@/engine/actions";
import { listedOf, useEntry } from "@/engine/chat-list";
import { useLog } from "@/engine/chat-store";
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
  Transcript,
} from "@/features/chat";
import { ChatMenu } from "@/features/chat-list/chat-menu";
import { bringBack, nameAfter, rename } from "@/features/chat-list/organise";
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
  const navigate = useNavigate();
  const models = useQuery(modelsQuery).data;
  const [start, setStart] = useState<Start | null>(null);
  usePageTitle(null);

  async function begin(draft: Draft, clientKey: string): Promise<void> {
    setStart({ draft, clientKey, why: null });
    try {
      const { text, model, effort = null, web = null } = draft;
      const body = { message: { text, model, effort, web }, tools: [] };
      const header = idempotencyHeader(clientKey);
      const begun = await withRetry(() =>
        unwrap(api.POST("/api/v1/chats", { params: { header }, body })),
      );
      nameAfter(begun.chat_id, draft.text);
      await navigate({ to: "/chats/$chatId", params: { chatId: begun.chat_id } });
    } catch (error) {
      setStart({ draft, clientKey, why: errorMessage(error) });
    }
  }

  return (
    <main aria-label={t.conversation} className="flex min-h-0 flex-1 flex-col">
      <div className="flex min-h-0 flex-1 flex-col items-center justify-center px-4">
        <h1 className="font-semibold text-title">{t.hello}</h1>
        <p className="mt-1 max-w-96 text-center text-muted text-ui">{t.helloHint}</p>
        <Suggestions />
      </div>
      {start !== null && start.why !== null && (
        <div role="alert" className="mx-auto mb-3 w-full max-w-(--column) px-4">
          <div className="rounded-card border border-danger p-3">
            <p className="text-ui">
              {t.startFailed} {start.why}
            </p>
            <p className="my-2 max-h-32 overflow-auto whitespace-pre-wrap text-muted">
              {start.draft.text}
            </p>
            <Button size="small" onClick={() => void begin(start.draft, start.clientKey)}>
              {commonStrings.retry}
            </Button>
          </div>
        </div>
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
        onSend={(draft) => void begin(draft, createId())}
        refused={start !== null && start.why === null ? t.starting : null}
      />
    </main>
  );
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

/** A first message on its way; `why`: it did not get there, and is still here. */
interface Start {
  readonly draft: Draft;
  readonly clientKey: string;
  readonly why: string | null;
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
  const paths = usePaths(session);
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
  const own = entry !== undefined && entry.owner_id === me?.user.id;
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

/** Histories that edits left behind; asked for anew when the history was cut. */
function usePaths({ log }: ChatSession): readonly Branch[] {
  const cuts = useLog(log, (now) => now.cuts);
  const isOpen = useLog(log, (now) => now.state === "open");
  const query = useQuery({ ...branchesQuery(log.chatId, cuts), enabled: isOpen });
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
