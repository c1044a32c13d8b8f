/**
 * The messages that wait, as the server has them. Moves are shown at once and stand until the server
 * tells its own order; whatever fails is said, and the server's order is back.
 */
import { ArrowDown, ArrowUp, CornerDownLeft, Ellipsis, Pencil, Trash2, Zap } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { Button } from "@/kit/button";
import { Menu, MenuItem } from "@/kit/menu";
import type { ChatActions } from "@/log/actions";
import { textOf } from "@/log/store";
import type { QueuedMessage } from "@/log/types";
import { firstLine, plural } from "../format";
import { type Direction, directionOf, move, moved } from "./queue";

interface QueueProps {
  queue: readonly QueuedMessage[];
  actions: Pick<ChatActions, "place" | "promote" | "remove">;
  /** Take it out, to be edited in the composer. */
  onTake: (queuedId: number) => void;
}

export function Queue({ queue, actions, onTake }: QueueProps) {
  const [asked, setAsked] = useState<{ queue: QueueProps["queue"]; ids: number[] } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  if (queue.length === 0) return null;
  // Void as soon as the server has said anything new about the queue.
  const ids = asked?.queue === queue ? asked.ids : queue.map((each) => each.queued_id);
  const shown = ids.flatMap((id) => queue.find((each) => each.queued_id === id) ?? []);
  const attempt = (done: Promise<void>) => {
    setFailure(null);
    done.catch((problem: unknown) => {
      setAsked(null);
      setFailure(problem instanceof Error ? problem.message : "That did not reach the server.");
    });
  };
  const place = (queuedId: number, direction: Direction) => {
    const wanted = move(ids, queuedId, direction);
    if (wanted === null) return;
    setAsked({ queue, ids: moved(ids, wanted) });
    attempt(actions.place(wanted.queuedId, wanted.before));
  };
  return (
    <section aria-label="Queue" className="mb-2 rounded-card border border-line bg-subtle">
      <h3 className="flex h-7 items-center gap-2 px-3 text-meta text-muted">
        {plural(shown.length, "message")} in the queue
        <span className="hidden sm:inline">· sent one by one when the agent is free</span>
      </h3>
      <ol className="max-h-48 divide-y divide-line overflow-auto border-t border-line">
        {shown.map((each, at) => (
          <QueueRow
            key={each.queued_id}
            message={each}
            at={at}
            of={shown.length}
            onMove={(direction) => place(each.queued_id, direction)}
            onTake={() => onTake(each.queued_id)}
            onNow={() => attempt(actions.promote(each.queued_id))}
            onRemove={() => attempt(actions.remove(each.queued_id))}
          />
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

interface QueueRowProps {
  message: QueuedMessage;
  at: number;
  of: number;
  onMove: (direction: Direction) => void;
  onTake: () => void;
  onNow: () => void;
  onRemove: () => void;
}

function QueueRow({ message, at, of, onMove, onTake, onNow, onRemove }: QueueRowProps) {
  const text = firstLine(textOf(message.parts)) || "Attachment";
  const keys = (event: KeyboardEvent) => {
    const direction = directionOf(event.key, event.altKey);
    if (direction === null) return;
    event.preventDefault();
    onMove(direction);
  };
  const tools: ToolProps[] = [
    { name: "Move up", hint: "Alt+↑", isOff: at === 0, act: () => onMove("up"), Glyph: ArrowUp },
    {
      name: "Move down",
      hint: "Alt+↓",
      isOff: at === of - 1,
      act: () => onMove("down"),
      Glyph: ArrowDown,
    },
    {
      name: "Send now",
      hint: "ends the present turn",
      isOff: false,
      act: onNow,
      Glyph: CornerDownLeft,
    },
    { name: "Edit", hint: "takes it out of the queue", isOff: false, act: onTake, Glyph: Pencil },
    { name: "Delete", hint: "", isOff: false, act: onRemove, Glyph: Trash2 },
  ];
  return (
    <li className="flex min-h-8 items-center gap-1 pr-1 pl-3" onKeyDown={keys}>
      {message.urgent ? (
        <Zap aria-label="Next" className="size-4 shrink-0 text-accent" />
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
            <Button look="plain" size="iconSmall" aria-label={`More: ${text}`}>
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

interface ToolProps {
  name: string;
  hint: string;
  act: () => void;
  Glyph: typeof ArrowUp;
  isOff: boolean;
}

function Tool({ tool, about }: { tool: ToolProps; about: string }) {
  const { name, hint, act, Glyph, isOff } = tool;
  return (
    <Button
      look="plain"
      size="iconSmall"
      aria-label={`${name}: ${about}`}
      title={hint === "" ? name : `${name} (${hint})`}
      aria-disabled={isOff}
      onClick={isOff ? undefined : act}
    >
      <Glyph aria-hidden />
    </Button>
  );
}
