/** That the connection is away, once it has been for two seconds; never before, and no error. */
import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { chatList } from "@/engine/chat-list";
import { useChatConnections, useListConnection } from "@/engine/connection";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "@/ui/button";

const LATE_MS = 2_000;
const t = commonStrings.connection;

export function ConnectionBar() {
  const list = useListConnection(({ now }) => now);
  const connection = useChatConnections(({ now }) => now) ?? list;
  const since = connection.state === "down" ? connection.since : null;
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (since === null) return;
    const timer = setTimeout(() => setLate(true), since + LATE_MS - Date.now());
    return () => clearTimeout(timer);
  }, [since]);
  if (!late || connection.state !== "down") return null;
  return (
    <div
      role="status"
      className="flex min-h-9 items-center gap-2 border-line border-b bg-subtle px-3 text-ui"
    >
      <WifiOff aria-hidden="true" className="size-4 shrink-0 text-warn" />
      <span>{navigator.onLine ? t.down : t.offline}</span>
      <span className="numeric text-faint text-meta">{t.tries(connection.tries)}</span>
      <Button
        size="small"
        className="ml-auto"
        onClick={() => {
          chatList.retryNow();
          useChatConnections.getState().retryNow();
        }}
      >
        {t.now}
      </Button>
    </div>
  );
}
