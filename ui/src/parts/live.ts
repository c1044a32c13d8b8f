/**
 * What is being said right now, for the few components that show it. It changes with every frame;
 * the list around them does not, so that a delta draws one item and nothing else.
 */
import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import { useClock, useNow } from "@/kit/clock";
import type { ChatLog } from "@/log/store";
import type { Preview } from "@/log/view";
import type { LiveShape } from "./transcript/items";

export interface LiveSource {
  subscribe: (listener: () => void) => () => void;
  preview: () => Preview | null;
}

export const SILENT: LiveSource = { subscribe: () => () => {}, preview: () => null };

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
    return part.kind === "tool_call" ? part.arguments : part.text;
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

/** Which parts there are, as one text: it changes only when one begins. */
export function shapeOf(preview: Preview | null): string {
  const parts = Object.entries(preview?.parts ?? {});
  const shapes = parts.map(([index, part]): LiveShape => {
    const call = part.kind === "tool_call" ? part : { call_id: "", tool: "" };
    return { index: Number(index), kind: part.kind, callId: call.call_id, tool: call.tool };
  });
  return JSON.stringify(shapes);
}
