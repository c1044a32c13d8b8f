/** What a person said: shown, folded when long, edited in place; older versions can be brought back. */
import { File, FileCode2, History, Pencil, Wand } from "lucide-react";
import { useState } from "react";
import { Button } from "@/kit/button";
import { cn } from "@/kit/classes";
import { useClock } from "@/kit/clock";
import { CopyButton } from "@/kit/copy-button";
import { Menu, MenuItem, MenuLabel } from "@/kit/menu";
import { say } from "@/kit/toast";
import { textOf } from "@/log/store";
import type { Message, Part } from "@/log/types";
import { loadDraft, NO_DRAFT, saveDraft } from "../composer/drafts";
import { countLines } from "../composer/paste";
import { useChat } from "../context";
import { firstLine, moment, plural } from "../format";
import { Markdown } from "../markdown/markdown";
import { Editor } from "./editor";
import { RowActions } from "./row-actions";

const FOLD_LINES = 20;
const FOLD_CHARACTERS = 2400;

export function UserMessage({ message }: { message: Message }) {
  const { actions, chatId, authors } = useChat();
  const author = authors.get(message.author_id ?? "");
  const text = textOf(message.parts);
  const kept = `edit.${chatId}.${message.seq}`;
  const [edited, setEdited] = useState<string | null>(() => loadDraft(kept).text || null);
  const change = (words: string | null) => {
    saveDraft(kept, words === null ? NO_DRAFT : { text: words, attachments: [] });
    setEdited(words);
  };
  const heading = (
    <h2 className="sr-only">
      {author ?? "You"} said: {firstLine(text, 80)}
    </h2>
  );
  if (edited !== null && actions !== null) {
    const send = (words: string) =>
      actions.edit(message.seq, { text: words, model: message.model });
    return (
      <>
        {heading}
        <Editor text={edited} onChange={change} onCancel={() => change(null)} onSend={send} />
      </>
    );
  }
  return (
    <div className="user-message">
      {heading}
      {author !== undefined && <p className="pb-1 text-meta text-muted">{author}</p>}
      <Said text={text} parts={message.parts} />
      <Meta message={message} text={text} onEdit={actions === null ? null : () => change(text)} />
    </div>
  );
}

function Said({ text, parts }: { text: string; parts: readonly Part[] }) {
  const { isOpen, toggle } = useChat();
  const key = `said.${text.length}.${firstLine(text, 40)}`;
  const isLong = text.length > FOLD_CHARACTERS || countLines(text, FOLD_LINES + 1) > FOLD_LINES;
  const isFolded = isLong && !isOpen(key);
  return (
    <div className="rounded-card border border-line bg-subtle px-3 py-2">
      <div
        className={cn(isFolded && "folded")}
        style={isFolded ? { maxHeight: `${FOLD_LINES}lh` } : undefined}
      >
        <Markdown text={text} />
      </div>
      {isLong && (
        <Button
          look="plain"
          size="small"
          className="-ml-2 mt-1"
          aria-expanded={!isFolded}
          onClick={() => toggle(key)}
        >
          {isFolded ? `Show all ${plural(countLines(text), "line")}` : "Show less"}
        </Button>
      )}
      <Attached parts={parts} />
    </div>
  );
}

function Attached({ parts }: { parts: readonly Part[] }) {
  const chips = parts.flatMap((part, at) => {
    if (part.kind === "file") return [{ at, Glyph: File, name: part.name || part.media_type }];
    if (part.kind === "file_reference")
      return [{ at, Glyph: FileCode2, name: referenceName(part) }];
    if (part.kind === "skill") return [{ at, Glyph: Wand, name: part.name }];
    return [];
  });
  if (chips.length === 0) return null;
  return (
    <ul aria-label="Attached" className="mt-2 flex flex-wrap gap-1">
      {chips.map(({ at, Glyph, name }) => (
        <li
          key={at}
          className="flex h-6 max-w-full items-center gap-1 rounded-control border border-line bg-raised px-2 text-meta"
        >
          <Glyph aria-hidden className="size-3.5 shrink-0 text-muted" />
          <span className="truncate">{name}</span>
        </li>
      ))}
    </ul>
  );
}

function referenceName(part: Extract<Part, { kind: "file_reference" }>): string {
  if (part.first_line === null) return part.path;
  const last =
    part.last_line === null || part.last_line === part.first_line ? "" : `–${part.last_line}`;
  return `${part.path}:${part.first_line}${last}`;
}

interface MetaProps {
  message: Message;
  text: string;
  onEdit: (() => void) | null;
}

function Meta({ message, text, onEdit }: MetaProps) {
  const clock = useClock();
  return (
    <div className="flex h-7 items-center justify-end gap-1 text-meta text-muted coarse:h-11">
      <RowActions>
        <time dateTime={message.created_at} className="numeric mr-1">
          {moment(message.created_at, clock.now())}
        </time>
        <CopyButton label="Copy message" data-row-action="copy" text={() => text} />
        {onEdit !== null && (
          <Button
            look="plain"
            size="iconSmall"
            aria-label="Edit"
            title="Edit"
            data-row-action="edit"
            onClick={onEdit}
          >
            <Pencil aria-hidden />
          </Button>
        )}
      </RowActions>
      <Versions message={message} />
    </div>
  );
}

function sayWhy(problem: unknown): void {
  say(
    problem instanceof Error ? problem.message : "The server did not receive this. Try again.",
    "danger",
  );
}

/** Histories that were left behind when this message took the place of another. */
function Versions({ message }: { message: Message }) {
  const { versions, actions } = useChat();
  const mine = versions.get(message.seq);
  if (mine === undefined) return null;
  return (
    <Menu
      align="end"
      trigger={
        <Button look="plain" size="small">
          <History aria-hidden />
          {plural(mine.length, "older version")}
        </Button>
      }
    >
      <MenuLabel>The current version is kept.</MenuLabel>
      {mine.map((path) => (
        <MenuItem
          key={path.version}
          disabled={actions === null}
          onSelect={() => void actions?.restore(path.version).catch(sayWhy)}
        >
          Go back to version {path.version}, {plural(path.messages, "message")}
        </MenuItem>
      ))}
    </Menu>
  );
}
