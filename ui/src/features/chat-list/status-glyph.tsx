/** Where a chat stands, as a small sign with a name: never by colour alone. */

import type { ChatSummary } from "@holdfast/client";
import { CircleAlert, CirclePause, Hand, LoaderCircle } from "lucide-react";
import { commonStrings } from "@/i18n/en/common";

export function Glyph({ chat }: { chat: ChatSummary }) {
  const label = commonStrings.status[chat.status];
  switch (chat.status) {
    case "running":
      return (
        <LoaderCircle role="img" aria-label={label} className="size-4 animate-spin text-accent" />
      );
    case "interrupting":
      return <CirclePause role="img" aria-label={label} className="size-4 text-muted" />;
    case "awaiting":
      return <Hand role="img" aria-label={label} className="size-4 text-warn" />;
    case "failed":
      return <CircleAlert role="img" aria-label={label} className="size-4 text-danger" />;
    default:
      return chat.unread ? (
        <svg
          role="img"
          aria-label={commonStrings.sidebar.unread}
          viewBox="0 0 16 16"
          className="size-4"
        >
          <circle cx="8" cy="8" r="4" className="fill-accent" />
        </svg>
      ) : null;
  }
}
