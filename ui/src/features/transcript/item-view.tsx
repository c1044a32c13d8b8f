import { memo } from "react";
import { useChatActions } from "@/features/chat/context";
import { useFold } from "@/features/chat/folds";
import { ToolCard } from "@/features/tools/tool-card";
import { AssistantText, Reasoning, Sources } from "./assistant-text";
import { Boundary, Break, LostWorker, PendingMessage, Run } from "./dividers";
import type { Item } from "./items";
import { TurnFooter } from "./turn-footer";
import { UserMessage } from "./user-message";

interface ItemViewProps {
  item: Item;
  isOpen: boolean;
}

/** One item. Drawn again only when it, or whether it is open, has changed. */
export const ItemView = memo(function ItemView({ item, isOpen }: ItemViewProps) {
  const { actions } = useChatActions();
  const { toggle: onToggle } = useFold(item.key);
  switch (item.kind) {
    case "older":
      return null; // it stands above the list
    case "user":
      return <UserMessage message={item.message} />;
    case "text":
      return <AssistantText text={item.text} index={item.index} marks={item.marks} />;
    case "reasoning":
      return <Reasoning text={item.text} index={item.index} isOpen={isOpen} onToggle={onToggle} />;
    case "tool":
      return (
        <ToolCard
          call={item.call}
          action={item.action}
          actions={actions}
          index={item.index}
          isNewest={item.isNewest === true}
          isOpen={isOpen}
          onToggle={onToggle}
        />
      );
    case "run":
      return <Run item={item} />;
    case "sources":
      return <Sources sources={item.sources} />;
    case "boundary":
      return <Boundary message={item.message} itemKey={item.key} />;
    case "lost":
      return <LostWorker takeover={item.takeover} isOpen={isOpen} onToggle={onToggle} />;
    case "break":
      return <Break why={item.why} isLast={item.isLast} />;
    case "foot":
      return <TurnFooter foot={item.foot} />;
    case "sending":
      return <PendingMessage sending={item.sending} />;
  }
});

/** The room above an item, which is part of its height: turns stand apart, steps close together. */
export function spaceAbove(item: Item, before: Item | undefined): string {
  if (item.kind === "user" || item.kind === "sending")
    return before === undefined ? "pt-4" : "pt-6";
  const isStep = (one: Item | undefined) =>
    one?.kind === "tool" || one?.kind === "reasoning" || one?.kind === "run";
  if (isStep(item) && isStep(before)) return "pt-0.5";
  if (item.kind === "lost") return "pt-1";
  if (item.kind === "foot" && item.foot.is !== "failed" && item.foot.is !== "retrying")
    return "pt-1";
  return before?.kind === "user" ? "pt-1" : "pt-3";
}

/** A guess at an item's height, good enough that little moves when it is measured. */
export function guess(item: Item): number {
  switch (item.kind) {
    case "user":
      return (
        70 +
        lines(item.message.parts.map((part) => ("text" in part ? part.text : "")).join(""), 20) * 22
      );
    case "text":
      return 12 + lines(item.text ?? "", 1000) * 22;
    case "sending":
      return 70 + lines(item.sending.text, 1000) * 22;
    case "foot":
      return item.foot.is === "failed" || item.foot.is === "retrying" ? 130 : 32;
    case "tool":
      return item.call.state === "failed" ? 50 : item.call.state === "awaiting" ? 200 : 30;
    case "sources":
    case "boundary":
    case "break":
    case "older":
      return 44;
    case "reasoning":
    case "lost":
    case "run":
      return 30;
  }
}

function lines(text: string, most: number): number {
  let n = 0;
  for (const line of text.split("\n")) n += Math.max(1, Math.ceil(line.length / 95));
  return Math.min(n, most);
}
