/** The bar in which one looks for words in this chat; the highlights are the browser's own. */
import { ChevronDown, ChevronUp, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useState } from "react";
import { useChatSession } from "@/features/chat/session-provider";
import type { Item } from "@/features/transcript/items";
import { chatStrings } from "@/i18n/en/chat";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "@/ui/button";
import { type Match, matchesIn, step } from "./find";
import { paint } from "./paint";

const says = chatStrings.find;

interface FindBarProps {
  /** With every run open: what is folded away is found as well. */
  readonly items: readonly Item[];
  /** Earlier messages that are not here yet; null: all are. */
  readonly older: number | null;
  readonly loadOlder: () => Promise<void>;
  /** Make it visible. */
  readonly onGo: (match: Match) => void;
}

export function FindBar({ items, older, loadOlder, onGo }: FindBarProps) {
  const { refs, closeFind } = useChatSession();
  const field = refs.findField;
  const [wanted, setWanted] = useState("");
  const [key, setKey] = useState<string | null>(null);
  const matches = useMemo(() => matchesIn(items, wanted), [items, wanted]);
  const at = matches.findIndex((match) => match.key === key);
  // In the same task as the key that opened it: the next key must not go elsewhere.
  useLayoutEffect(() => field.current?.focus(), [field]);
  const isLoading = useAll(wanted !== "", older, loadOlder);
  useEffect(() => paint(refs.log.current, wanted.trim(), key), [refs, wanted, key]);
  const go = (by: 1 | -1) => {
    const match = matches[step(matches.length, at, by)];
    if (match === undefined) return;
    setKey(match.key);
    onGo(match);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") closeFind();
    else if (event.key === "Enter") go(event.shiftKey ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <search
      aria-label={says.label}
      className="absolute top-2 right-4 flex items-center gap-1 rounded-card border border-line bg-raised p-1 shadow-float max-sm:inset-x-2"
    >
      <input
        ref={field}
        type="search"
        aria-label={says.label}
        placeholder={says.label}
        value={wanted}
        onChange={(event) => {
          setWanted(event.target.value);
          setKey(null);
        }}
        onKeyDown={press}
        className="h-7 w-52 min-w-0 flex-1 bg-transparent px-2 text-ui outline-none placeholder:text-faint coarse:h-11 [&::-webkit-search-cancel-button]:hidden"
      />
      <span role="status" className="numeric px-1 text-meta text-muted whitespace-nowrap">
        {wanted.trim() === "" ? "" : says.count(at < 0 ? null : at + 1, matches.length, isLoading)}
      </span>
      <Button variant="plain" size="iconSmall" aria-label={says.earlier} onClick={() => go(-1)}>
        <ChevronUp aria-hidden />
      </Button>
      <Button variant="plain" size="iconSmall" aria-label={says.later} onClick={() => go(1)}>
        <ChevronDown aria-hidden />
      </Button>
      <Button variant="plain" size="iconSmall" aria-label={commonStrings.close} onClick={closeFind}>
        <X aria-hidden />
      </Button>
    </search>
  );
}

/** Page after page, until all of the chat is here; a page that fails ends it, and the count says so. */
function useAll(wanted: boolean, older: number | null, loadOlder: () => Promise<void>): boolean {
  const [failedAt, setFailedAt] = useState<number | null>(null);
  const isLoading = wanted && older !== null && older !== failedAt;
  useEffect(() => {
    if (isLoading) loadOlder().catch(() => setFailedAt(older));
  }, [isLoading, older, loadOlder]);
  return isLoading;
}
