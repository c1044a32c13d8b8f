/** A chat, or the beginning of one. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { api, asked, keyed, newKey, persistently, sentenceOf } from "@/api/client";
import { Button } from "@/kit/button";
import { MenuItem } from "@/kit/menu";
import { Blank } from "@/kit/state";
import type { Draft } from "@/log/actions";
import { useEntry } from "@/log/list";
import { follow, logOf, type OpenChat } from "@/log/logs";
import { useLog } from "@/log/store";
import type { ChatEntry, OlderPath } from "@/log/types";
import { Composer, NEW_CHAT, offerDraft, openFind, Transcript } from "@/parts";
import { words } from "@/words";
import { ChatMenu } from "./chat-menu";
import { type Models, modelsQuery, peopleQuery, templatesQuery, useMe } from "./me";
import { ContextMeter } from "./meter";
import { bringBack, nameAfter, rename } from "./organise";
import { usePageTitle } from "./page-title";
import { chatRoute } from "./router";
import { RunState } from "./run-state";
import { toComposer } from "./shortcuts";

const says = words.chat;

export function NewChat() {
  const navigate = useNavigate();
  const models = useQuery(modelsQuery).data;
  const [start, setStart] = useState<Start | null>(null);
  usePageTitle(null);

  async function begin(draft: Draft, clientKey: string): Promise<void> {
    setStart({ draft, clientKey, why: null });
    try {
      const body = { message: { text: draft.text, model: draft.model }, tools: [] };
      const header = keyed(clientKey);
      const begun = await persistently(() =>
        asked(api.POST("/api/v1/chats", { params: { header }, body })),
      );
      nameAfter(begun.chat_id, draft.text);
      await navigate({ to: "/chats/$chatId", params: { chatId: begun.chat_id } });
    } catch (error) {
      setStart({ draft, clientKey, why: sentenceOf(error) });
    }
  }

  return (
    <main aria-label={says.conversation} className="flex min-h-0 flex-1 flex-col">
      <div className="flex min-h-0 flex-1 flex-col items-center justify-center px-4">
        <h1 className="font-semibold text-title">{says.hello}</h1>
        <p className="mt-1 max-w-96 text-center text-muted text-ui">{says.helloHint}</p>
        <Suggestions />
      </div>
      {start !== null && start.why !== null && (
        <div role="alert" className="mx-auto mb-3 w-full max-w-(--column) px-4">
          <div className="rounded-card border border-danger p-3">
            <p className="text-ui">
              {says.startFailed} {start.why}
            </p>
            <p className="my-2 max-h-32 overflow-auto whitespace-pre-wrap text-muted">
              {start.draft.text}
            </p>
            <Button size="small" onClick={() => void begin(start.draft, start.clientKey)}>
              {words.retry}
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
        onSend={(draft) => void begin(draft, newKey())}
        refused={start !== null && start.why === null ? says.starting : null}
      />
    </main>
  );
}

/** Something to begin with, for who has never been here; it goes into the field, not to the model. */
function Suggestions() {
  const offered = useQuery(templatesQuery).data?.templates.length ?? 0;
  const shown = says.suggested.filter((each) => offered > 0 || !each.needsWorkspace);
  return (
    <ul aria-label={says.suggestions} className="mt-4 flex flex-wrap justify-center gap-2">
      {shown.map(({ title, text }) => (
        <li key={title}>
          <Button
            onClick={() => {
              offerDraft(NEW_CHAT, text);
              toComposer();
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

export function ChatPage() {
  const { chatId } = chatRoute.useParams();
  return <Chat key={chatId} chatId={chatId} />;
}

function Chat({ chatId }: { chatId: string }) {
  const open = useMemo(() => logOf(chatId), [chatId]);
  useEffect(() => follow(open), [open]);
  const state = useLog(open.log, (now) => now.state);
  const entry = useChatEntry(open);
  const models = useQuery(modelsQuery).data;
  const me = useMe().data;
  const paths = usePaths(open);
  const authors = useAuthors(open, entry, me?.user.user_id);
  usePageTitle(entry?.title ?? words.noTitle, { chatId, running: entry?.status === "running" });
  useRead(open, entry);
  if (state === "away") {
    return (
      <main aria-label={says.conversation} className="flex flex-1 items-center justify-center">
        <Blank title={says.missing} />
      </main>
    );
  }
  const own = entry !== undefined && entry.owner_id === me?.user.user_id;
  const mayWrite = own && !entry.archived;
  const owner = entry === undefined ? undefined : authors.get(entry.owner_id);
  return (
    <main aria-label={says.conversation} className="flex min-h-0 flex-1 flex-col">
      <Header entry={entry} own={own} mayWrite={mayWrite} open={open} models={models} />
      {entry?.archived && (
        <Banner text={says.archivedBanner(own)}>
          {own && (
            <Button size="small" onClick={() => void bringBack(chatId)}>
              {says.bringBack}
            </Button>
          )}
        </Banner>
      )}
      {entry !== undefined && !own && <Banner text={says.readOnly(owner)} />}
      <Transcript
        log={open.log}
        actions={open.actions}
        models={models?.models ?? []}
        mayWrite={mayWrite}
        paths={paths}
        authors={authors}
      />
      {mayWrite && (
        <Composer
          chatId={chatId}
          log={open.log}
          actions={open.actions}
          models={models?.models ?? []}
          defaultModel={models?.default ?? null}
          onSend={open.actions.send}
          refused={null}
        />
      )}
    </main>
  );
}

/** From the list, which is told of changes; what is not in it is asked for. */
function useChatEntry({ log }: OpenChat): ChatEntry | undefined {
  const listed = useEntry(log.chatId);
  const status = useLog(log, (now) => now.view.status);
  const looked = useQuery({
    queryKey: ["chat", log.chatId, status?.archived],
    queryFn: () =>
      asked(api.GET("/api/v1/chats/{chat_id}", { params: { path: { chat_id: log.chatId } } })),
    enabled: listed === undefined,
  });
  return listed ?? looked.data;
}

const NO_PATHS: readonly OlderPath[] = [];

/** Histories that edits left behind; asked for anew when the history was cut. */
function usePaths({ log }: OpenChat): readonly OlderPath[] {
  const cuts = useLog(log, (now) => now.cuts);
  const isOpen = useLog(log, (now) => now.state === "open");
  const query = useQuery({
    queryKey: ["paths", log.chatId, cuts],
    queryFn: () =>
      asked(
        api.GET("/api/v1/chats/{chat_id}/paths", { params: { path: { chat_id: log.chatId } } }),
      ),
    enabled: isOpen,
    placeholderData: (before) => before,
  });
  return query.data?.paths ?? NO_PATHS;
}

const NO_AUTHORS: ReadonlyMap<string, string> = new Map();

/** Names of the other users who own this chat or wrote in it; without any, no request is made. */
function useAuthors(
  { log }: OpenChat,
  entry: ChatEntry | undefined,
  me: string | undefined,
): ReadonlyMap<string, string> {
  const isOther = (id: string | null | undefined) => id != null && id !== me;
  const wroteToo = useLog(log, (now) =>
    now.view.messages.some((message) => isOther(message.author_id)),
  );
  const enabled = me !== undefined && (wroteToo || isOther(entry?.owner_id));
  const users = useQuery({ ...peopleQuery, enabled }).data?.users;
  return useMemo(() => {
    if (!enabled || users === undefined) return NO_AUTHORS;
    const others = users.filter((user) => user.user_id !== me);
    return new Map(others.map((user) => [user.user_id, user.name]));
  }, [enabled, users, me]);
}

const READ_AFTER_MS = 1000;

/** What was on the screen of a focused tab for a second has been read. */
function useRead({ log }: OpenChat, entry: ChatEntry | undefined): void {
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
      asked(api.PUT("/api/v1/chats/{chat_id}/read", { params, body: { seq: last } })).catch(
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
  readonly entry: ChatEntry | undefined;
  readonly own: boolean;
  readonly mayWrite: boolean;
  readonly open: OpenChat;
  readonly models: Models | undefined;
}

function Header({ entry, own, mayWrite, open, models }: HeaderProps) {
  const [renaming, setRenaming] = useState<string | null>(null);
  const title = entry?.title ?? words.noTitle;
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
            aria-label={says.rename}
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
              title={says.rename}
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
      <RunState log={open.log} />
      <Button
        look="plain"
        size="icon"
        className={own ? "max-sm:hidden" : undefined}
        aria-label={words.find.open}
        title={words.find.open}
        onClick={openFind}
      >
        <Search />
      </Button>
      <ContextMeter log={open.log} models={models} actions={mayWrite ? open.actions : null} />
      {own && entry !== undefined && (
        <ChatMenu chat={entry} onRename={() => setRenaming(entry.title ?? "")} size="icon">
          <MenuItem className="sm:hidden" onSelect={() => setTimeout(openFind)}>
            <Search />
            {words.find.open}
          </MenuItem>
        </ChatMenu>
      )}
    </header>
  );
}
