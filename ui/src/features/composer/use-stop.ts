import { useEffect, useState } from "react";
import type { ChatActions } from "@/engine/actions";
import { composerStrings as t } from "@/i18n/en/composer";

const AGAIN_WITHIN_MS = 2000;

export interface Stop {
  now: () => void;
  /** Escape: the first press only says what a second would do. */
  byKey: () => void;
  hint: string;
}

/** Asking a turn to end. That it has ended is the server's to say. */
export function useStop(
  actions: Pick<ChatActions, "interrupt"> | null,
  mode: "idle" | "busy" | "stopping",
  onFailure: (why: string) => void,
): Stop {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    if (!isArmed) return;
    const timer = setTimeout(() => setArmed(false), AGAIN_WITHIN_MS);
    return () => clearTimeout(timer);
  }, [isArmed]);
  const now = () => {
    setArmed(false);
    if (mode !== "busy") return;
    actions?.interrupt().catch((problem: unknown) => {
      onFailure(problem instanceof Error ? problem.message : t.stopFailed);
    });
  };
  const byKey = () => (isArmed ? now() : setArmed(true));
  return { now, byKey, hint: isArmed && mode === "busy" ? t.stopHint : "" };
}
