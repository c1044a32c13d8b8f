/** The transcript of an open chat: the log's rows as items, and what their state asks for. */
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from "react";
import { part } from "@/kit/part";
import { useLog, useRows } from "@/log/store";
import { Chat, type ChatContext } from "../context";
import type { TranscriptProps } from "../contract";
import { LiveContext, liveOf, shapeOf } from "../live";
import { StatusRegion } from "../status/status-region";
import type { Match } from "./find";
import { useFind, useFindKey } from "./find-state";
import type { Follow } from "./follow";
import { type Held, hold, type Item, itemsOf, type LiveShape, settled } from "./items";
import { AwayTranscript, EmptyTranscript, LoadingTranscript } from "./states";
import { type Goal, Timeline } from "./timeline";
import { versionsBySeq } from "./versions";

const FindBar = lazy(() => part(() => import("./find-bar")));

export function Transcript(props: TranscriptProps) {
  const { log, actions, models, mayWrite, paths = [], authors = NO_AUTHORS } = props;
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
  const { open, toggle, onMode } = items;
  const context = useMemo<ChatContext>(
    () => ({
      chatId,
      actions: mayWrite ? actions : null,
      models,
      versions,
      authors,
      isOpen: (key) => open.has(key),
      toggle,
    }),
    [chatId, actions, mayWrite, models, versions, authors, open, toggle],
  );
  const loadOlder = useCallback(() => actions.loadOlder(), [actions]);
  const isFinding = useFind((find) => find.open);
  useFindKey();
  const [goal, setGoal] = useState<Goal | null>(null);
  const go = (match: Match) => {
    for (const key of match.opens) if (!open.has(key)) toggle(key);
    setGoal({ key: match.key });
  };
  if (state === "away") return <AwayTranscript />;
  if (state === "opening" && items.list.length === 0) return <LoadingTranscript />;
  return (
    <Chat.Provider value={context}>
      <LiveContext.Provider value={live}>
        {isFinding && (
          <div className="relative z-20 h-0">
            <Suspense>
              <FindBar items={items.all()} older={items.older} loadOlder={loadOlder} onGo={go} />
            </Suspense>
          </div>
        )}
        {items.list.length === 0 ? (
          <EmptyTranscript />
        ) : (
          <Timeline
            key={chatId}
            chatId={chatId}
            items={items.list}
            loadOlder={loadOlder}
            onMode={onMode}
            sent={sent}
            goal={goal}
          />
        )}
        <StatusRegion items={items.list} />
      </LiveContext.Provider>
    </Chat.Provider>
  );
}

const NO_AUTHORS: ReadonlyMap<string, string> = new Map();
/** Asked for one key at a time, and always has it. */
const EVERYTHING = { has: () => true };
const NOTHING_OPEN: ReadonlySet<string> = new Set();

function useItems(log: TranscriptProps["log"]) {
  const rows = useRows(log);
  const older = useLog(log, (now) => now.view.older);
  const status = useLog(log, (now) => now.view.status);
  const retry = useLog(log, (now) => now.view.retry);
  const error = useLog(log, (now) => now.view.error);
  const action = useLog(log, (now) => now.view.action);
  const shape = useLog(log, (now) => shapeOf(now.view.preview));
  const [open, setOpen] = useState(NOTHING_OPEN);
  const [held, setHeld] = useState<Held | null>(null);
  const before = useRef<Item[]>([]);
  const list = useMemo(() => {
    const live = JSON.parse(shape) as LiveShape[];
    const facts = { rows, older, live, status, retry, error, action };
    before.current = settled(before.current, itemsOf(facts, { open, held }));
    return before.current;
  }, [rows, older, shape, status, retry, error, action, open, held]);
  const toggle = useCallback((key: string) => {
    setOpen((was) => {
      const next = new Set(was);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  const onMode = useCallback((mode: Follow["mode"]) => {
    setHeld(mode === "reading" ? hold(before.current) : null);
  }, []);
  // Whatever is folded, for who looks for something; made only then.
  const all = () => {
    const live = JSON.parse(shape) as LiveShape[];
    const facts = { rows, older, live, status, retry, error, action };
    return itemsOf(facts, { open: EVERYTHING, held });
  };
  return { list, open, toggle, onMode, older, all };
}

/** How often something was sent from here since the chat was opened. */
function useSent(rows: readonly { kind: string; key: string }[]): number {
  const count = useRef(0);
  const known = useRef(new Set<string>());
  for (const row of rows) {
    if (row.kind !== "sending" || known.current.has(row.key)) continue;
    known.current.add(row.key);
    count.current++;
  }
  return count.current;
}
