/** That the connection is away, once it has been for two seconds; never before, and no error. */
import { WifiOff } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "@/kit/button";
import { useConnections, worst } from "@/log/connection";
import { chatList } from "@/log/list";
import { retryChatNow } from "@/log/logs";
import { words } from "@/words";

const LATE_MS = 2_000;
const says = words.connection;

export function ConnectionBar() {
  const connection = useConnections(worst);
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
      <span>{navigator.onLine ? says.down : says.offline}</span>
      <span className="numeric text-faint text-meta">{says.tries(connection.tries)}</span>
      <Button
        size="small"
        className="ml-auto"
        onClick={() => {
          chatList.retryNow();
          retryChatNow();
        }}
      >
        {says.now}
      </Button>
    </div>
  );
}
