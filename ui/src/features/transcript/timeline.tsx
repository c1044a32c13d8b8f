/**
 * The list of a transcript: virtual, held at its end while it is followed, still while it is read.
 *
 * A row that has the focus stays mounted wherever the scroll goes, so that the focus is never lost.
 */
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  memo,
  type RefObject,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useFold } from "@/features/chat/folds";
import type { ChatSession } from "@/features/chat/session";
import { useChatSession } from "@/features/chat/session-provider";
import { chatStrings } from "@/i18n/en/chat";
import { transcriptStrings } from "@/i18n/en/transcript";
import { cn } from "@/lib/classes";
import { Button } from "@/ui/button";
import { Older } from "./dividers";
import type { Follow, Sign } from "./follow";
import { FollowStore, isFar } from "./follow-store";
import { guess, ItemView, spaceAbove } from "./item-view";
import type { Item } from "./items";
import { useReadingLine } from "./use-reading-line";
import { isWriting, useSigns, whereIs } from "./use-signs";
import { endOptions, type List, restingLate } from "./virtual-list";

interface TimelineProps {
  items: readonly Item[];
  loadOlder: () => Promise<void>;
  /** Called when following begins or ends, with the items that are drawn then. */
  onMode: (mode: Follow["mode"], items: readonly Item[]) => void;
  /** Something was sent from here: goes up by one each time. */
  sent: number;
  /** Go to this item, once for each new object. */
  goal: Goal | null;
}

export interface Goal {
  readonly key: string;
  /** Show its beginning, and mark it for a moment. */
  readonly isMarked: boolean;
}

const LOAD_OLDER_WITHIN = 4;
const ROOM_BELOW_PX = 24;
const MARKED_MS = 2500;
const OLDER_PX = 56;

export function Timeline({ items: all, loadOlder, onMode, sent, goal }: TimelineProps) {
  // No row of the list: what comes above must move away from it, and the list holds on to the row that
  // is highest in sight.
  const hasOlder = all[0]?.kind === "older";
  const items = useMemo(() => (hasOlder ? all.slice(1) : all), [all, hasOlder]);
  const session = useChatSession();
  const scroller = session.refs.log;
  const [focused, setFocused] = useState<string | null>(null);
  const focusedAt = focused === null ? -1 : items.findIndex((item) => item.key === focused);
  const { virtualizer, state, follow } = useList(
    session,
    items,
    focusedAt,
    hasOlder ? OLDER_PX : 0,
  );
  const { sign, toEnd } = follow;
  useArrivals(items, sign);
  const changeMode = useEffectEvent((mode: Follow["mode"]) => onMode(mode, all));
  useLayoutEffect(() => changeMode(state.mode), [state.mode]);
  useEffect(() => {
    if (sent === 0) return;
    sign({ kind: "sends" });
    toEnd();
  }, [sent, sign, toEnd]);
  const marked = useGoal(goal, items, virtualizer, sign);
  const older = useOlder(virtualizer, hasOlder, items[0]?.key, loadOlder);
  const jump = () => {
    sign({ kind: "jumps to the end" });
    toEnd();
  };
  const toTop = () => {
    virtualizer.scrollToOffset(0);
    // At the top nothing scrolls any more: Home itself asks for what is above.
    if (hasOlder) older.load();
  };
  const keys = useRoving(scroller, virtualizer, items, focusedAt, setFocused, { jump, toTop });
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label={chatStrings.chat.conversation}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
        tabIndex={0}
        className="timeline h-full overflow-x-hidden overflow-y-auto"
        onKeyDown={keys}
        onFocus={(event) => {
          const key = keyOf(event.target);
          setFocused(key);
          if (isOlder(items, key)) sign({ kind: "looks back" });
        }}
        onBlur={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget)) setFocused(null);
        }}
        onClickCapture={(event) => {
          // What is opened must stay where it is, also at the end of a transcript that is followed.
          if (isOpener(event.target as HTMLElement)) sign({ kind: "looks back" });
        }}
      >
        <div ref={virtualizer.containerRef} className="relative w-full">
          {hasOlder && (
            <div
              className="absolute top-0 left-0 flex w-full items-center"
              style={{ height: OLDER_PX }}
            >
              <div className="row-inner mx-auto w-full max-w-(--column) px-4">
                <Older isLoading={older.isLoading} onLoad={older.load} />
              </div>
            </div>
          )}
          {virtualizer.getVirtualItems().map(({ index, key }) => (
            <Row
              key={key}
              index={index}
              item={items[index]}
              setSize={items.length}
              above={index === 0 && hasOlder ? all[0] : items[index - 1]}
              measure={virtualizer.measureElement}
              isFocused={index === focusedAt || (focusedAt < 0 && index === items.length - 1)}
              isMarked={key === marked}
            />
          ))}
        </div>
      </div>
      {state.mode === "reading" && (
        <JumpToEnd fresh={state.fresh} onJump={jump} isFar={isFar(state)} />
      )}
    </div>
  );
}

/** The virtual list, and who holds its end. */
function useList(
  session: ChatSession,
  items: readonly Item[],
  focusedAt: number,
  roomAbove: number,
) {
  const scroller = session.refs.log;
  const [place] = useState(session.scroll);
  const [follow] = useState(() => new FollowStore(place?.follow));
  const state = useSyncExternalStore(follow.subscribe, follow.snapshot);
  const holdEnd = useCallback(() => {
    if (follow.now.mode === "following") follow.toEnd();
  }, [follow]);
  const settle = useCallback(() => {
    if (scroller.current === null) return;
    follow.sign(whereIs(scroller.current));
    if (follow.now.distance > 1) holdEnd();
  }, [scroller, follow, holdEnd]);
  const height = useRef(0);
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLElement>({
    // Rows that grow are moved by the list itself: a delta draws the live row and nothing else.
    directDomUpdates: true,
    observeElementOffset: useMemo(() => restingLate(() => follow.now.mode), [follow]),
    onChange: (changed) => {
      if (height.current === changed.getTotalSize()) return;
      height.current = changed.getTotalSize();
      queueMicrotask(settle); // once the list itself has done what it can
    },
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => guess(items[at] as Item),
    getItemKey: useCallback((at: number) => items[at]?.key ?? at, [items]),
    anchorTo: "end",
    ...endOptions(state.mode),
    overscan: 6,
    paddingStart: roomAbove,
    paddingEnd: ROOM_BELOW_PX,
    initialOffset: () => (place?.follow.mode === "reading" ? place.offset : guessAll(items)),
    initialMeasurementsCache: place?.sizes ?? [],
    rangeExtractor: useCallback((range: Range) => pinned(range, focusedAt), [focusedAt]),
  });
  useLayoutEffect(() => follow.attach(virtualizer), [follow, virtualizer]);
  useSigns(scroller, follow.sign, holdEnd);
  useReadingLine(scroller, virtualizer, follow);
  useBeginning(virtualizer, items.length > 0, follow);
  useLeaving(session, virtualizer, follow);
  // A row that comes before the last one is no append to the list, which would leave the end behind.
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever comes or goes moves the end
  useLayoutEffect(settle, [items, settle]);
  return { virtualizer, state, follow };
}

/**
 * The reader goes to an item: it is read, and the list does not follow meanwhile. The result is the
 * key of the item that is marked.
 */
function useGoal(
  goal: Goal | null,
  items: readonly Item[],
  list: List,
  sign: (sign: Sign) => void,
): string | null {
  const reached = useRef<Goal | null>(null);
  const [marked, setMarked] = useState<string | null>(null);
  useEffect(() => {
    if (goal === null || reached.current === goal) return;
    const at = items.findIndex((item) => item.key === goal.key);
    if (at < 0) return; // what hides it is being opened
    reached.current = goal;
    sign({ kind: "looks back" });
    list.scrollToIndex(at, { align: goal.isMarked ? "start" : "center" });
    setMarked(goal.isMarked ? goal.key : null);
  }, [goal, items, list, sign]);
  useEffect(() => {
    if (marked === null) return;
    const timer = setTimeout(() => setMarked(null), MARKED_MS);
    return () => clearTimeout(timer);
  }, [marked]);
  return marked;
}

function isOlder(items: readonly Item[], key: string | null): boolean {
  const turn = items.find((item) => item.key === key)?.turn;
  return turn !== undefined && turn !== items.at(-1)?.turn;
}

function isOpener(target: HTMLElement): boolean {
  return target.closest("[aria-expanded]:not([aria-haspopup])") !== null;
}

interface RowProps {
  index: number;
  item: Item | undefined;
  setSize: number;
  measure: (element: HTMLElement | null) => void;
  isFocused: boolean;
  isMarked: boolean;
  above: Item | undefined;
}

const Row = memo(function Row(props: RowProps) {
  const { index, item, setSize, measure, isFocused, isMarked, above } = props;
  const { isOpen } = useFold(item?.key ?? "");
  if (item === undefined) return null;
  return (
    <article
      ref={measure}
      data-index={index}
      data-key={item.key}
      aria-posinset={index + 1}
      aria-setsize={setSize}
      data-marked={isMarked ? "" : undefined}
      tabIndex={isFocused ? 0 : -1}
      className="group/row absolute top-0 left-0 w-full outline-none"
    >
      <div className={cn("row-inner mx-auto max-w-(--column) px-4", spaceAbove(item, above))}>
        <ItemView item={item} isOpen={isOpen} />
      </div>
    </article>
  );
});

function JumpToEnd({
  fresh,
  onJump,
  isFar,
}: {
  fresh: number;
  onJump: () => void;
  isFar: boolean;
}) {
  if (!isFar) return null;
  return (
    <div className="pointer-events-none absolute inset-x-0 bottom-3 flex justify-center">
      <Button className="pointer-events-auto rounded-full shadow-float" onClick={onJump}>
        <ArrowDown aria-hidden />
        {transcriptStrings.jump}
        {fresh > 0 && <span className="numeric text-accent">{transcriptStrings.fresh(fresh)}</span>}
      </Button>
    </div>
  );
}

function guessAll(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + guess(item), 0);
}

function pinned(range: Range, focusedAt: number): number[] {
  const shown = defaultRangeExtractor(range);
  if (focusedAt < 0 || shown.includes(focusedAt) || focusedAt >= range.count) return shown;
  return [...shown, focusedAt].sort((a, b) => a - b);
}

function keyOf(target: EventTarget): string | null {
  const row = (target as HTMLElement).closest<HTMLElement>("[data-key]");
  return row?.dataset.key ?? null;
}

/** At the end at first, unless somebody was reading when they left. */
function useBeginning(list: List, hasItems: boolean, follow: FollowStore): void {
  useLayoutEffect(() => {
    if (hasItems && follow.now.mode === "following") list.scrollToEnd();
  }, [list, hasItems, follow]);
}

function useLeaving(session: ChatSession, list: List, follow: FollowStore): void {
  useEffect(
    () => () => {
      const { now } = follow;
      session.scroll = { offset: now.top, follow: now, sizes: list.measurementsCache };
    },
    [session, list, follow],
  );
}

/** How many items came at the end: those after the one that was last. */
function useArrivals(items: readonly Item[], sign: (sign: Sign) => void): void {
  const last = useRef<string | null>(null);
  useEffect(() => {
    const was = last.current;
    last.current = items.at(-1)?.key ?? null;
    if (was === null || was === last.current) return;
    const at = items.findLastIndex((item) => item.key === was);
    if (at >= 0) sign({ kind: "rows came", rows: items.length - 1 - at });
  }, [items, sign]);
}

interface OlderState {
  isLoading: boolean;
  load: () => void;
}

function useOlder(
  list: List,
  hasOlder: boolean,
  first: string | undefined,
  loadOlder: () => Promise<void>,
): OlderState {
  const [isLoading, setLoading] = useState(false);
  const busy = useRef(false);
  const load = useCallback(() => {
    if (busy.current) return;
    busy.current = true;
    setLoading(true);
    loadOlder()
      .catch(() => {}) // the button stays, and is the way to try again
      .finally(() => {
        busy.current = false;
        setLoading(false);
      });
  }, [loadOlder]);
  const isNear = hasOlder && (list.range?.startIndex ?? LOAD_OLDER_WITHIN) < LOAD_OLDER_WITHIN;
  const mayScroll = list.getTotalSize() > (list.scrollRect?.height ?? 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page; a failure waits for the button
  useEffect(() => {
    if (isNear && mayScroll && list.scrollDirection === "backward") load();
  }, [isNear, mayScroll, first, load]);
  return useMemo(() => ({ isLoading, load }), [isLoading, load]);
}

/**
 * J and K go from item to item; Enter opens, C copies, E edits. Home and End are ours, too: a browser
 * scrolls there little by little, and stops where the first row on its way turns out to be higher.
 */
function useRoving(
  scroller: RefObject<HTMLDivElement | null>,
  list: List,
  items: readonly Item[],
  focusedAt: number,
  setFocused: (key: string) => void,
  to: { jump: () => void; toTop: () => void },
) {
  const wanted = useRef<string | null>(null);
  useEffect(() => {
    if (wanted.current === null) return;
    const row = scroller.current?.querySelector<HTMLElement>(
      `[data-key="${CSS.escape(wanted.current)}"]`,
    );
    if (row == null) return;
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  const go = (step: number) => {
    const from = focusedAt < 0 ? items.length : focusedAt;
    const at = Math.min(items.length - 1, Math.max(0, from + step));
    const key = items[at]?.key;
    if (key === undefined) return;
    wanted.current = key;
    setFocused(key);
    list.scrollToIndex(at, { align: "auto" });
  };
  return (event: React.KeyboardEvent) => {
    if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const isRow = (event.target as HTMLElement).matches("[data-key], [role=log]");
    const act = ACTS[event.key];
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "Home") to.toTop();
    else if (event.key === "End") to.jump();
    else if (act !== undefined && isRow) press(event.target as HTMLElement, act);
    else return;
    event.preventDefault();
  };
}

const ACTS: Readonly<Record<string, string>> = { Enter: "toggle", c: "copy", e: "edit" };

function press(row: HTMLElement, act: string): void {
  row.querySelector<HTMLElement>(`[data-row-action="${act}"]`)?.click();
}
