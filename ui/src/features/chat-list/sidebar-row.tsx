/** One chat in the list. */

import type { ChatSummary } from "@holdfast/client";
import { Link, useParams } from "@tanstack/react-router";
import { memo, useEffect, useRef, useState } from "react";
import { useMe } from "@/api/queries/me";
import { commonStrings } from "@/i18n/en/common";
import { cn } from "@/lib/classes";
import { inputStyle } from "@/ui/form-field";
import { ChatMenu } from "./chat-menu";
import { briefTime } from "./groups";
import { rename } from "./organise";
import { Glyph } from "./status-glyph";

const t = commonStrings.sidebar;

export const Row = memo(function Row({ chat, compact }: { chat: ChatSummary; compact: boolean }) {
  const { chatId } = useParams({ strict: false });
  const [renaming, setRenaming] = useState(false);
  const me = useMe().data?.user.id;
  const title = chat.title ?? commonStrings.noTitle;
  const own = chat.owner_id === me;
  const isHere = chat.id === chatId;
  // What is on the screen is being read: that it is new would only flicker.
  const shown = isHere ? { ...chat, unread: false } : chat;
  const notes = [
    briefTime(chat.updated_at, new Date()),
    own ? null : t.shared,
    chat.status === "idle" ? chat.turn_label : commonStrings.status[chat.status],
    chat.queue_length > 0 ? t.queued(chat.queue_length) : null,
  ].filter((note) => note !== null);
  if (renaming) return <Renaming chat={chat} onDone={() => setRenaming(false)} />;
  return (
    <div
      className={cn(
        "group relative flex h-full items-center rounded-control hover:bg-hover",
        isHere && "bg-selected hover:bg-selected",
      )}
    >
      <Link
        to="/chats/$chatId"
        params={{ chatId: chat.id }}
        aria-current={isHere ? "page" : undefined}
        title={chat.summary ?? undefined}
        className="flex h-full min-w-0 flex-1 items-center gap-2 rounded-control px-2 coarse:pr-11"
      >
        <span className="min-w-0 flex-1">
          <span className={cn("block truncate text-ui", shown.unread && "font-semibold")}>
            {title}
          </span>
          {!compact && (
            <span
              className={cn(
                "numeric block truncate text-meta",
                isHere ? "text-muted" : "text-faint",
              )}
            >
              {notes.join(" · ")}
            </span>
          )}
        </span>
        {/* The menu comes in its place, where there is a pointer to call it. */}
        <span
          className={cn(
            own &&
              "pointer-fine:group-hover:opacity-0 pointer-fine:group-has-[:focus-visible]:opacity-0 pointer-fine:group-has-[[aria-expanded=true]]:opacity-0",
          )}
        >
          <Glyph chat={shown} />
        </span>
      </Link>
      {own && (
        <ChatMenu
          chat={chat}
          onRename={() => setRenaming(true)}
          size="iconSmall"
          className="absolute right-0.5 opacity-0 focus-visible:opacity-100 group-hover:opacity-100 group-has-[:focus-visible]:opacity-100 aria-expanded:opacity-100 coarse:opacity-100"
        />
      )}
    </div>
  );
});

function Renaming({ chat, onDone }: { chat: ChatSummary; onDone: () => void }) {
  const [title, setTitle] = useState(chat.title ?? "");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  return (
    <form
      className="flex h-full items-center px-1"
      onSubmit={(event) => {
        event.preventDefault();
        void rename(chat, title);
        onDone();
      }}
    >
      <input
        ref={field}
        aria-label={t.rename}
        value={title}
        maxLength={200}
        onChange={(event) => setTitle(event.target.value)}
        onBlur={() => {
          void rename(chat, title);
          onDone();
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            setTitle(chat.title ?? "");
            onDone();
          }
        }}
        className={cn(inputStyle, "h-8")}
      />
    </form>
  );
}
