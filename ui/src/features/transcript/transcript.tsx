/** The transcript of an open chat: the log's rows as items, and what their state asks for. */
import { useCallback, useMemo, useState, useSyncExternalStore } from "react";
import { useStore } from "zustand";
import { type ChatLog, useLog, useRows } from "@/engine/chat-store";
import { ChatActionsContext, ChatMetaContext } from "@/features/chat/context";
import type { TranscriptProps } from "@/features/chat/contract";
import { Folds, FoldsContext } from "@/features/chat/folds";
import { LiveContext, liveOf } from "@/features/chat/live";
import { useChatSession } from "@/features/chat/session-provider";
import type { Match } from "@/features/find/find";
import { FindBar } from "@/features/find/find-bar";
import { useFindKey } from "@/features/find/use-find-key";
import type { Follow } from "./follow";
import { type FrozenFolds, freezeFolds, type Item, itemsOf, settled, stateInput } from "./items";
import { EmptyTranscript, LoadingTranscript, UnavailableTranscript } from "./states";
import { StatusRegion } from "./status-region";
import { type Goal, Timeline } from "./timeline";
import { useJump } from "./use-jump";
import { versionsBySeq } from "./versions";

export function Transcript(props: TranscriptProps) {
  const session = useChatSession();
  const { log, actions } = session;
  const { models, mayWrite, paths = [], authors = NO_AUTHORS, seq } = props;
  const state = useLog(log, (now) => now.state);
  const items = useItems(log);
  const live = useMemo(() => liveOf(log), [log]);
  const rows = useRows(log);
  const sent = useSent(rows);
  const versions = useMemo(
    () =>
      versionsBySeq(
        paths,
        rows.map((row) => row.seq),
      ),
    [paths, rows],
  );
  const { chatId } = log;
  const { folds, onMode } = items;
  const writes = mayWrite ? actions : null;
  const commands = useMemo(() => ({ chatId, actions: writes }), [chatId, writes]);
  const meta = useMemo(() => ({ models, versions, authors }), [models, versions, authors]);
  const loadOlder = useCallback(() => actions.loadOlder(), [actions]);
  const isFinding = useStore(session.find, ({ isOpen }) => isOpen);
  useFindKey(session);
  const [goal, setGoal] = useState<Goal | null>(null);
  const go = (match: Match, isMarked = false) => {
    for (const key of match.opens) if (!folds.snapshot().has(key)) folds.toggle(key);
    setGoal({ key: match.key, isMarked });
  };
  useJump({ log, seq, items: items.all, loadOlder, onGo: (match) => go(match, true) });
  if (state === "unavailable") return <UnavailableTranscript />;
  if (state === "opening" && items.list.length === 0) return <LoadingTranscript />;
  return (
    <ChatActionsContext value={commands}>
      <ChatMetaContext value={meta}>
        <FoldsContext value={folds}>
          <LiveContext.Provider value={live}>
            {isFinding && (
              <div className="relative z-20 h-0">
                <FindBar items={items.all()} older={items.older} loadOlder={loadOlder} onGo={go} />
              </div>
            )}
            {items.list.length === 0 ? (
              <EmptyTranscript />
            ) : (
              <Timeline
                key={chatId}
                items={items.list}
                loadOlder={loadOlder}
                onMode={onMode}
                sent={sent}
                goal={goal}
              />
            )}
            <StatusRegion items={items.list} />
          </LiveContext.Provider>
        </FoldsContext>
      </ChatMetaContext>
    </ChatActionsContext>
  );
}

const NO_AUTHORS: ReadonlyMap<string, string> = new Map();
/** As if every key were open. */
const EVERYTHING = { has: () => true };

function useItems(log: ChatLog) {
  const rows = useRows(log);
  const older = useLog(log, (now) => now.view.older);
  const state = useLog(log, (now) => now.view.state);
  const live = useLog(log, (now) => now.liveParts);
  const [folds] = useState(() => new Folds());
  const open = useSyncExternalStore(folds.subscribe, folds.snapshot);
  const [frozen, setFrozen] = useState<FrozenFolds | null>(null);
  const list = useSettled(
    useMemo(() => {
      const input = { rows, older, live, ...stateInput(state) };
      return itemsOf(input, { open, frozen });
    }, [rows, older, live, state, open, frozen]),
  );
  const onMode = useCallback((mode: Follow["mode"], shown: readonly Item[]) => {
    setFrozen(mode === "reading" ? freezeFolds(shown) : null);
  }, []);
  // With everything unfolded, for the search; made only then.
  const all = () => {
    const input = { rows, older, live, ...stateInput(state) };
    return itemsOf(input, { open: EVERYTHING, frozen });
  };
  return { list, folds, onMode, older, all };
}

/** The items, each the same object as before where it says the same. */
function useSettled(made: Item[]): Item[] {
  const [last, setLast] = useState({ made, list: made });
  if (last.made === made) return last.list;
  const next = { made, list: settled(last.list, made) };
  setLast(next); // state that follows from the state before: set while rendering, as React allows
  return next.list;
}

/** How many messages were sent from this page since the chat was opened. */
function useSent(rows: readonly { kind: string; key: string }[]): number {
  const [sent, setSent] = useState<ReadonlySet<string>>(new Set());
  const fresh = rows.filter((row) => row.kind === "sending" && !sent.has(row.key));
  if (fresh.length === 0) return sent.size;
  const keys = new Set([...sent, ...fresh.map((row) => row.key)]);
  setSent(keys);
  return keys.size;
}
