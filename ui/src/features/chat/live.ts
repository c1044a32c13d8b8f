/**
 * What is being said right now, for the few components that show it. It changes with every frame;
 * the list around them does not, so that a delta draws one item and nothing else.
 */

import type { Preview } from "@holdfast/client";
import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import type { ChatLog } from "@/engine/chat-store";
import { type Clock, useClock } from "@/lib/clock";

export interface LiveSource {
  subscribe: (listener: () => void) => () => void;
  preview: () => Preview | null;
}

const SILENT: LiveSource = { subscribe: () => () => {}, preview: () => null };

export const LiveContext = createContext<LiveSource>(SILENT);

export function liveOf(log: ChatLog): LiveSource {
  return { subscribe: log.subscribe, preview: () => log.snapshot().view.preview };
}

/** The words of the part at `index`; for a call, its arguments as far as they are written. */
export function useLiveText(index: number): string {
  const source = useContext(LiveContext);
  return useSyncExternalStore(source.subscribe, () => {
    const part = source.preview()?.parts[index];
    if (part === undefined) return "";
    return part.type === "tool_call" ? part.arguments : part.text;
  });
}

/** What a running tool has shown so far. */
export function useShown(callId: string): string {
  const source = useContext(LiveContext);
  return useSyncExternalStore(source.subscribe, () => source.preview()?.outputs[callId] ?? "");
}

/**
 * How long nothing was heard of the chat, in milliseconds; 0 while that is less than `fromMs`. So a
 * chat that streams does not draw the component again.
 */
export function useSilence(fromMs: number): number {
  const source = useContext(LiveContext);
  const clock = useClock();
  const silence = useMemo(() => silenceOf(source, clock, fromMs), [source, clock, fromMs]);
  return useSyncExternalStore(silence.subscribe, silence.snapshot);
}

/** An external store of the silence. It counts from the subscription on. */
function silenceOf(source: LiveSource, clock: Clock, fromMs: number) {
  let heardAt: number | null = null;
  return {
    subscribe(listener: () => void): () => void {
      const stopClock = clock.subscribe(listener);
      const stopSource = source.subscribe(() => {
        heardAt = clock.now();
        listener();
      });
      heardAt = clock.now();
      return () => {
        stopClock();
        stopSource();
      };
    },
    snapshot(): number {
      const silence = heardAt === null ? 0 : clock.now() - heardAt;
      return silence < fromMs ? 0 : silence;
    },
  };
}
