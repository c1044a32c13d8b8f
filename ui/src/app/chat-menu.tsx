/** What can be done to a chat, the same in the list and in the chat's own header. */
import { useNavigate, useParams } from "@tanstack/react-router";
import { Archive, Ellipsis, PenLine, Pin, PinOff, Share2 } from "lucide-react";
import type { ReactNode } from "react";
import { Button, type ButtonProps } from "@/kit/button";
import { Menu, MenuItem } from "@/kit/menu";
import type { ChatEntry } from "@/log/types";
import { words } from "@/words";
import { archive, pin } from "./organise";
import { shareChat } from "./sharing-state";

const says = words.sidebar;

interface ChatMenuProps extends Pick<ButtonProps, "size" | "className"> {
  readonly chat: ChatEntry;
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
        <Button look="plain" aria-label={says.more(chat.title ?? words.noTitle)} {...look}>
          <Ellipsis />
        </Button>
      }
    >
      {children}
      <MenuItem onSelect={() => void pin(chat, !chat.pinned)}>
        {chat.pinned ? <PinOff /> : <Pin />}
        {chat.pinned ? says.unpin : says.pin}
      </MenuItem>
      <MenuItem onSelect={() => setTimeout(onRename)}>
        <PenLine />
        {says.rename}
      </MenuItem>
      <MenuItem onSelect={() => setTimeout(() => shareChat(chat))}>
        <Share2 />
        {says.share}
      </MenuItem>
      {!chat.archived && (
        <MenuItem
          onSelect={() => {
            void archive(chat);
            if (chat.chat_id === chatId) void navigate({ to: "/" });
          }}
        >
          <Archive />
          {says.archive}
        </MenuItem>
      )}
    </Menu>
  );
}
