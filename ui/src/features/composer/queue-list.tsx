/**
 * The messages that wait, as the server has them. Moves are shown at once and stand until the server
 * tells its own order; whatever fails is said, and the server's order is back.
 */

import { type QueuedMessage, textOf } from "@holdfast/client";
import {
  ArrowDown,
  ArrowUp,
  Ellipsis,
  GripVertical,
  Pencil,
  Play,
  Trash2,
  Zap,
} from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import type { ChatActions } from "@/engine/actions";
import type { Sending } from "@/engine/rows";
import { chatStrings } from "@/i18n/en/chat";
import { composerStrings } from "@/i18n/en/composer";
import { cn } from "@/lib/classes";
import { firstLine } from "@/lib/format";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";
import { type Direction, directionOf, type Move, move, moved, moveTo } from "./queue";

const t = composerStrings.queue;

export interface QueueProps {
  queue: readonly QueuedMessage[];
  /** Sent from here, and not yet known to be in the queue. */
  pending: readonly Sending[];
  /** Stop has paused it. */
  isPaused: boolean;
  actions: Pick<ChatActions, "place" | "promote" | "remove" | "resumeQueue" | "clearQueue">;
  /** Take it out, to be edited in the composer. */
  onTake: (queuedId: number) => void;
}

export function Queue({ queue, pending, isPaused, actions, onTake }: QueueProps) {
  const [asked, setAsked] = useState<{ queue: QueueProps["queue"]; ids: number[] } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [dragged, setDragged] = useState<{ id: number; to: number } | null>(null);
  const list = useRef<HTMLOListElement>(null);
  if (queue.length + pending.length === 0) return null;
  // Void as soon as the server has said anything new about the queue.
  const ids = asked?.queue === queue ? asked.ids : queue.map((each) => each.queued_id);
  const dragging = dragged === null ? null : moveTo(ids, dragged.id, dragged.to);
  const order = dragging === null ? ids : moved(ids, dragging);
  const shown = order.flatMap((id) => queue.find((each) => each.queued_id === id) ?? []);
  const attempt = (done: Promise<void>) => {
    setFailure(null);
    done.catch((problem: unknown) => {
      setAsked(null);
      setFailure(problem instanceof Error ? problem.message : composerStrings.notReceived);
    });
  };
  const place = (wanted: Move | null) => {
    if (wanted === null) return;
    setAsked({ queue, ids: moved(ids, wanted) });
    attempt(actions.place(wanted.queuedId, wanted.before));
  };
  /** The row under the pointer: they are all of one height. */
  const rowAt = (clientY: number) => {
    const { current } = list;
    if (current === null) return 0;
    const each = current.scrollHeight / (ids.length + pending.length);
    return Math.floor((clientY - current.getBoundingClientRect().top + current.scrollTop) / each);
  };
  return (
    <section aria-label={t.label} className="mb-2 rounded-card border border-line bg-subtle">
      <h3 className="flex min-h-7 items-center gap-2 px-3 text-meta text-muted">
        {t.count(shown.length + pending.length)}
        {isPaused ? (
          <Paused
            onResume={() => attempt(actions.resumeQueue())}
            onClear={() => attempt(actions.clearQueue())}
          />
        ) : (
          <span className="hidden sm:inline">{t.countHint}</span>
        )}
      </h3>
      <ol
        ref={list}
        className="relative max-h-48 divide-y divide-line overflow-auto border-t border-line"
      >
        {shown.map((each, at) => (
          <QueueRow
            key={each.queued_id}
            message={each}
            at={at}
            of={shown.length}
            isDragged={each.queued_id === dragged?.id}
            onDrag={(clientY) => setDragged({ id: each.queued_id, to: rowAt(clientY) })}
            onDrop={(isMeant) => {
              if (isMeant) place(dragging);
              setDragged(null);
            }}
            onMove={(direction) => place(move(ids, each.queued_id, direction))}
            onTake={() => onTake(each.queued_id)}
            onNow={() => attempt(actions.promote(each.queued_id))}
            onRemove={() => attempt(actions.remove(each.queued_id))}
          />
        ))}
        {pending.map((each) => (
          <li key={each.clientKey} className="flex h-8 items-center gap-2 px-3 coarse:h-11">
            <span className="min-w-0 flex-1 truncate text-muted text-ui" dir="auto">
              {firstLine(each.text)}
            </span>
            <span className="text-meta text-muted">
              {each.state === "waiting" ? t.waiting : chatStrings.chat.sending}
            </span>
          </li>
        ))}
      </ol>
      {failure !== null && (
        <p role="alert" className="border-t border-line px-3 py-1 text-meta text-danger">
          {failure}
        </p>
      )}
    </section>
  );
}

function Paused({ onResume, onClear }: { onResume: () => void; onClear: () => void }) {
  return (
    <>
      <span className="rounded-control bg-selected px-1.5 text-fg">{t.paused}</span>
      <span className="grow" />
      <Button variant="plain" size="small" onClick={onResume}>
        <Play aria-hidden />
        {t.resume}
      </Button>
      <Button variant="plain" size="small" onClick={onClear}>
        <Trash2 aria-hidden />
        {t.clear}
      </Button>
    </>
  );
}

interface QueueRowProps {
  message: QueuedMessage;
  at: number;
  of: number;
  isDragged: boolean;
  onDrag: (clientY: number) => void;
  /** Not meant: the browser took the pointer away. */
  onDrop: (isMeant: boolean) => void;
  onMove: (direction: Direction) => void;
  onTake: () => void;
  onNow: () => void;
  onRemove: () => void;
}

function QueueRow(props: QueueRowProps) {
  const { message, at, of, isDragged, onDrag, onDrop, onMove, onTake, onNow, onRemove } = props;
  const text = firstLine(textOf(message.parts)) || t.attachment;
  const keys = (event: KeyboardEvent) => {
    const direction = directionOf(event.key, event.altKey);
    if (direction === null) return;
    event.preventDefault();
    onMove(direction);
  };
  const tools: ToolProps[] = [
    { ...t.up, isMove: true, isOff: at === 0, act: () => onMove("up"), Glyph: ArrowUp },
    {
      ...t.down,
      isMove: true,
      isOff: at === of - 1,
      act: () => onMove("down"),
      Glyph: ArrowDown,
    },
    { ...t.now, isSend: true, isOff: false, act: onNow, Glyph: Zap },
    { ...t.edit, isOff: false, act: onTake, Glyph: Pencil },
    { ...t.delete, isOff: false, act: onRemove, Glyph: Trash2 },
  ];
  return (
    <li
      className={cn(
        "group flex h-8 items-center gap-1 pr-1 coarse:h-11",
        isDragged && "bg-selected",
      )}
      onKeyDown={keys}
    >
      <Handle onDrag={onDrag} onDrop={onDrop} />
      {message.send_now ? (
        <Zap aria-label={t.next} className="size-4 shrink-0 text-accent" />
      ) : (
        <span className="numeric w-4 shrink-0 text-meta text-muted">{at + 1}</span>
      )}
      <span className="min-w-0 flex-1 truncate text-ui" dir="auto">
        {text}
      </span>
      <span className="hidden sm:flex">
        {tools.map((tool) => (
          <Tool key={tool.name} tool={tool} about={text} />
        ))}
      </span>
      <span className="sm:hidden">
        <Menu
          side="top"
          trigger={
            <Button variant="plain" size="iconSmall" aria-label={t.more(text)}>
              <Ellipsis aria-hidden />
            </Button>
          }
        >
          {tools.map(({ name, isOff, act, Glyph }) => (
            <MenuItem key={name} disabled={isOff} onSelect={act}>
              <Glyph aria-hidden />
              {name}
            </MenuItem>
          ))}
        </Menu>
      </span>
    </li>
  );
}

/** For a pointer or a finger; whoever has neither moves a row by its buttons, or with Alt and arrows. */
function Handle({ onDrag, onDrop }: Pick<QueueRowProps, "onDrag" | "onDrop">) {
  return (
    <span
      aria-hidden
      data-handle
      title={t.drag}
      className="flex h-full w-6 shrink-0 cursor-grab touch-none items-center justify-center text-faint active:cursor-grabbing coarse:w-9"
      onPointerDown={(event) => {
        event.preventDefault(); // no text is selected on the way
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) onDrag(event.clientY);
      }}
      onPointerUp={() => onDrop(true)}
      onPointerCancel={() => onDrop(false)}
    >
      <GripVertical className="size-4" />
    </span>
  );
}

interface ToolProps {
  name: string;
  hint: string;
  act: () => void;
  Glyph: typeof ArrowUp;
  isOff: boolean;
  /** Shown on hover only. */
  isMove?: boolean;
  /** With its name beside the icon. */
  isSend?: boolean;
}

const QUIET =
  "opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 aria-disabled:opacity-0 group-hover:aria-disabled:opacity-40";

function Tool({ tool, about }: { tool: ToolProps; about: string }) {
  const { name, hint, act, Glyph, isOff, isMove, isSend } = tool;
  return (
    <Button
      variant="plain"
      size={isSend ? "small" : "iconSmall"}
      className={isMove ? QUIET : undefined}
      aria-label={t.of(name, about)}
      tooltip={hint === "" ? name : t.withHint(name, hint)}
      aria-disabled={isOff}
      onClick={isOff ? undefined : act}
    >
      <Glyph aria-hidden />
      {isSend && name}
    </Button>
  );
}
