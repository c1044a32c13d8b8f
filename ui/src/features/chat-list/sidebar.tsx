/** The list of chats: what the server tells, by time, with search, and whatever is done to one. */

import { errorMessage } from "@holdfast/client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  Archive,
  Command,
  Keyboard,
  LogOut,
  PanelLeft,
  Plus,
  Search,
  Settings,
  ShieldCheck,
  X,
} from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { chatSearchQuery } from "@/api/queries/chats";
import { useMe } from "@/api/queries/me";
import { chatList, useChats } from "@/engine/chat-list";
import { signOut } from "@/features/auth/session";
import { openOverlay } from "@/features/palette/shortcuts";
import { commonStrings } from "@/i18n/en/common";
import { cn } from "@/lib/classes";
import { useDebounced } from "@/lib/debounce";
import { usePreferences } from "@/lib/preferences";
import { Button } from "@/ui/button";
import { EmptyState, Skeleton } from "@/ui/empty-state";
import { inputStyle } from "@/ui/form-field";
import { Menu, MenuItem, MenuLine } from "@/ui/menu";
import { showToast } from "@/ui/toast";
import { foundRows, grouped, type ListRow } from "./groups";
import { Row } from "./sidebar-row";

const t = commonStrings.sidebar;

export function Sidebar({ onHide }: { onHide: () => void }) {
  const [wanted, setWanted] = useState("");
  const [archived, setArchived] = useState(false);
  return (
    <>
      <div className="flex h-11 shrink-0 items-center gap-1 px-2 pl-3">
        <span className="font-semibold text-ui">{commonStrings.product}</span>
        <Button
          variant="plain"
          size="icon"
          aria-label={t.hide}
          onClick={onHide}
          className="ml-auto"
        >
          <PanelLeft />
        </Button>
      </div>
      <div className="flex shrink-0 flex-col gap-2 px-2 pb-2">
        <Link
          to="/"
          className="flex h-9 items-center gap-2 rounded-control border border-line bg-raised px-2.5 font-medium hover:bg-hover coarse:h-11"
        >
          <Plus aria-hidden="true" className="size-4" />
          {commonStrings.newChat}
        </Link>
        <div className="relative">
          <Search
            aria-hidden="true"
            className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-faint"
          />
          <input
            type="search"
            aria-label={t.search}
            placeholder={t.search}
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
            onKeyDown={(event) => event.key === "Escape" && setWanted("")}
            className={cn(
              inputStyle,
              "border-line pr-8 pl-8 [&::-webkit-search-cancel-button]:hidden",
            )}
          />
          {wanted !== "" && (
            <Button
              variant="plain"
              size="iconSmall"
              aria-label={t.clear}
              onClick={() => setWanted("")}
              className="absolute top-1 right-1 coarse:top-0"
            >
              <X />
            </Button>
          )}
        </div>
      </div>
      {archived && (
        <div className="flex shrink-0 items-center justify-between px-2 pb-1 pl-4">
          <h2 className="font-medium text-meta text-muted">{t.showArchived}</h2>
          <Button variant="plain" size="small" onClick={() => setArchived(false)}>
            {t.hideArchived}
          </Button>
        </div>
      )}
      {wanted.trim() === "" && !archived ? (
        <Everything />
      ) : (
        <Found
          wanted={wanted.trim()}
          archived={archived}
          onClear={() => {
            setWanted("");
            setArchived(false);
          }}
        />
      )}
      <Foot onArchived={() => setArchived(true)} />
    </>
  );
}

function Everything() {
  const { view, chats } = useChats();
  const rows = useMemo(() => grouped(chats, new Date()), [chats]);
  if (!view.isLoaded && chats.length === 0) return <Skeleton lines={9} className="flex-1" />;
  if (rows.length === 0) {
    return (
      <div className="flex-1">
        <EmptyState title={t.none} hint={t.noneHint} />
      </div>
    );
  }
  return <Rows rows={rows} more={view.after === null ? null : () => void chatList.more()} />;
}

interface FoundProps {
  readonly wanted: string;
  readonly archived: boolean;
  readonly onClear: () => void;
}

const SEARCH_AFTER_MS = 200;

/** Chats whose title has the words of a search, or archived chats. */
function Found({ wanted, archived, onClear }: FoundProps) {
  const q = useDebounced(wanted, SEARCH_AFTER_MS);
  const found = useInfiniteQuery(chatSearchQuery(q, archived));
  const { view } = useChats();
  const rows = useMemo(() => {
    const chats = (found.data?.pages ?? []).flatMap((page) => page.data);
    return foundRows(chats, view.chats, archived ? "" : q);
  }, [found.data, view, archived, q]);
  if (found.isError) {
    return (
      <div className="flex-1">
        <EmptyState title={t.failed} hint={errorMessage(found.error)}>
          <Button onClick={() => found.refetch()}>{commonStrings.retry}</Button>
        </EmptyState>
      </div>
    );
  }
  if (found.isPending) return <Skeleton lines={6} className="flex-1" />;
  if (rows.length === 0) {
    return (
      <div className="flex-1">
        <EmptyState title={wanted === "" ? t.noneArchived : t.noMatch(wanted)}>
          <Button onClick={onClear}>{wanted === "" ? t.hideArchived : t.clear}</Button>
        </EmptyState>
      </div>
    );
  }
  return <Rows rows={rows} more={found.hasNextPage ? () => void found.fetchNextPage() : null} />;
}

const GROUP_PX = 28;
const OVERSCAN = 8;

function Rows({ rows, more }: { rows: readonly ListRow[]; more: (() => void) | null }) {
  const scroller = useRef<HTMLDivElement>(null);
  const compact = usePreferences((chosen) => chosen.density === "compact");
  const rowPx = matchMedia("(pointer: coarse)").matches ? 52 : compact ? 32 : 44;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (rows[at]?.kind === "group" ? GROUP_PX : rowPx),
    getItemKey: (at) => rows[at]?.key ?? at,
    overscan: OVERSCAN,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes depend on the density
  useEffect(() => virtual.measure(), [rowPx]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more !== null && last >= rows.length - OVERSCAN * 2) more();
  }, [last, rows.length, more]);
  return (
    <div ref={scroller} className="relative min-h-0 flex-1 overflow-y-auto px-2">
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <li
              key={item.key}
              className="absolute inset-x-0 top-0"
              style={{ height: item.size, transform: `translateY(${item.start}px)` }}
            >
              {row.kind === "group" ? (
                <h2 className="px-2 pt-2 font-medium text-faint text-meta">{row.title}</h2>
              ) : (
                <Row chat={row.chat} compact={compact} />
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Foot({ onArchived }: { onArchived: () => void }) {
  const me = useMe().data;
  const navigate = useNavigate();
  return (
    <div className="flex shrink-0 items-center gap-1 border-line border-t p-2">
      <Menu
        trigger={
          <button
            type="button"
            className="flex h-9 min-w-0 flex-1 items-center gap-2 rounded-control px-2 text-left hover:bg-hover coarse:h-11"
          >
            <span
              aria-hidden="true"
              className="flex size-6 shrink-0 items-center justify-center rounded-full bg-accent font-medium text-accent-fg text-meta"
            >
              {(me?.user.name ?? "?").slice(0, 1).toUpperCase()}
            </span>
            <span className="truncate">{me?.user.name}</span>
          </button>
        }
      >
        <MenuItem onSelect={onArchived}>
          <Archive />
          {t.showArchived}
        </MenuItem>
        <MenuItem onSelect={() => void navigate({ to: "/settings" })}>
          <Settings />
          {t.settings}
        </MenuItem>
        {me?.user.role === "admin" && (
          <MenuItem onSelect={() => void navigate({ to: "/admin" })}>
            <ShieldCheck />
            {t.administration}
          </MenuItem>
        )}
        <MenuItem onSelect={() => setTimeout(() => openOverlay("palette"))}>
          <Command />
          {commonStrings.palette.title}
        </MenuItem>
        <MenuItem onSelect={() => setTimeout(() => openOverlay("shortcuts"))}>
          <Keyboard />
          {commonStrings.palette.shortcuts}
        </MenuItem>
        <MenuLine />
        <MenuItem
          onSelect={() => void signOut().catch((error) => showToast(errorMessage(error), "danger"))}
        >
          <LogOut />
          {t.signOut}
        </MenuItem>
      </Menu>
    </div>
  );
}
