import { useEffect, useEffectEvent, useState } from "react";
import { type ChatLog, useLog, useRows } from "@/engine/chat-store";
import type { Match } from "@/features/find/find";
import { transcriptStrings } from "@/i18n/en/transcript";
import { showToast } from "@/ui/toast";
import type { Item } from "./items";
import { jumpTo } from "./jump";

const t = transcriptStrings.jumpTo;
/** A chat that was open before gets what is new only when it is connected again. */
const NEWER_MS = 3000;

interface JumpProps {
  readonly log: ChatLog;
  /** The seq of the message that the address names. */
  readonly seq: number | undefined;
  /** With every run open. */
  readonly items: () => readonly Item[];
  readonly loadOlder: () => Promise<void>;
  /** Make it visible. */
  readonly onGo: (match: Match) => void;
}

/** Goes to the message that the address names, once. Loads page after page until it is there. */
export function useJump({ log, seq, items, loadOlder, onGo }: JumpProps): void {
  const isOpen = useLog(log, (now) => now.state === "open");
  const messages = useLog(log, (now) => now.view.messages);
  const older = useLog(log, (now) => now.view.older);
  const rows = useRows(log);
  const [done, setDone] = useState<number | undefined>();
  if (seq === undefined && done !== undefined) setDone(undefined); // the same link works again
  const jump =
    isOpen && seq !== undefined && seq !== done
      ? jumpTo(seq, { messages, rows, items: items(), older })
      : null;
  const end = (toast: string | null) => {
    setDone(seq);
    if (toast !== null) showToast(toast);
  };
  const act = useEffectEvent(() => {
    switch (jump?.is) {
      case "found":
        onGo(jump.match);
        return end(null);
      case "older":
        void loadOlder().catch(() => end(t.failed));
        return;
      case "missing":
        return end(t.missing);
      case "newer": {
        const timer = setTimeout(() => end(t.missing), NEWER_MS);
        return () => clearTimeout(timer);
      }
    }
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page
  useEffect(() => act(), [jump?.is, seq, older]);
}
