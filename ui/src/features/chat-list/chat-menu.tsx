/** What can be done to a chat, the same in the list and in the chat's own header. */

import type { ChatSummary } from "@holdfast/client";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Archive, Ellipsis, PenLine, Pin, PinOff, Share2 } from "lucide-react";
import type { ReactNode } from "react";
import { shareChat } from "@/features/sharing/sharing-state";
import { commonStrings } from "@/i18n/en/common";
import { Button, type ButtonProps } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";
import { archive, pin } from "./organise";

const t = commonStrings.sidebar;

interface ChatMenuProps extends Pick<ButtonProps, "size" | "className"> {
  readonly chat: ChatSummary;
  readonly onRename: () => void;
  /** More that can be done here, above the rest. */
  readonly children?: ReactNode;
}

/** For its owner. What takes the focus waits until the menu has given it back. */
export function ChatMenu({ chat, onRename, children, ...look }: ChatMenuProps) {
  const { chatId } = useParams({ strict: false });
  const navigate = useNavigate();
  return (
    <Menu
      trigger={
        <Button variant="plain" aria-label={t.more(chat.title ?? commonStrings.noTitle)} {...look}>
          <Ellipsis />
        </Button>
      }
    >
      {children}
      <MenuItem onSelect={() => void pin(chat, !chat.pinned)}>
        {chat.pinned ? <PinOff /> : <Pin />}
        {chat.pinned ? t.unpin : t.pin}
      </MenuItem>
      <MenuItem onSelect={() => setTimeout(onRename)}>
        <PenLine />
        {t.rename}
      </MenuItem>
      <MenuItem onSelect={() => setTimeout(() => shareChat(chat))}>
        <Share2 />
        {t.share}
      </MenuItem>
      {!chat.archived && (
        <MenuItem
          onSelect={() => {
            void archive(chat);
            if (chat.id === chatId) void navigate({ to: "/" });
          }}
        >
          <Archive />
          {t.archive}
        </MenuItem>
      )}
    </Menu>
  );
}
