/**
 * What is being said right now, for the few components that show it. It changes with every frame;
 * the list around them does not, so that a delta draws one item and nothing else.
 */

import type { Preview } from "@holdfast/client";
import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import type { ChatLog } from "@/engine/chat-store";
import { useClock, useNow } from "@/lib/clock";

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

/** How long nothing was heard of the chat, in milliseconds. */
export function useSilence(): number {
  const source = useContext(LiveContext);
  const clock = useClock();
  const heard = useRef(clock.now());
  useEffect(() => {
    heard.current = clock.now();
    return source.subscribe(() => {
      heard.current = clock.now();
    });
  }, [source, clock]);
  return useNow() - heard.current;
}
