/** What the provider itself said of a failure: for administrators, read when it is asked for. */

import type { ChatError } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { errorDetailsQuery } from "@/api/queries/chats";
import { useMe } from "@/api/queries/me";
import { useChatActions } from "@/features/chat/context";
import { transcriptStrings } from "@/i18n/en/transcript";

const t = transcriptStrings.turn.details;

export function ErrorDetails({ error }: { error: ChatError }) {
  const { chatId } = useChatActions();
  // Without a provider no request was made that it could have spoken of.
  return chatId === "" || error.provider === null ? null : (
    <ForAdministrators chatId={chatId} error={error} />
  );
}

function ForAdministrators({ chatId, error }: { chatId: string; error: ChatError }) {
  const [isOpen, setOpen] = useState(false);
  const isAdmin = useMe().data?.user.role === "admin";
  const { data, isError } = useQuery({
    ...errorDetailsQuery(chatId, error),
    enabled: isAdmin && isOpen,
  });
  if (!isAdmin) return null;
  const details = data?.error_details;
  return (
    <details
      className="text-meta text-muted"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="cursor-pointer">{t.title}</summary>
      {details !== undefined && details !== null && (
        <div className="mt-1 space-y-1">
          <p className="break-words whitespace-pre-wrap">{details.detail}</p>
          {details.request_id !== null && <p>{t.requestId(details.request_id)}</p>}
        </div>
      )}
      {data !== undefined && !details && <p className="mt-1">{t.none}</p>}
      {isError && <p className="mt-1">{t.failed}</p>}
    </details>
  );
}
