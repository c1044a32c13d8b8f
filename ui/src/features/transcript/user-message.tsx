/** A user message: folded when long, edited in place; its older versions are beside it. */

import { type Message, type MessagePart, textOf } from "@holdfast/client";
import { File, FileCode2, Pencil, Wand } from "lucide-react";
import { useState } from "react";
import { useChatActions, useChatMeta } from "@/features/chat/context";
import { useFold } from "@/features/chat/folds";
import { loadDraft, NO_DRAFT, saveDraft } from "@/features/composer/drafts";
import { countLines } from "@/features/composer/paste";
import { transcriptStrings } from "@/i18n/en/transcript";
import { cn } from "@/lib/classes";
import { useClock } from "@/lib/clock";
import { firstLine, moment } from "@/lib/format";
import { Markdown } from "@/markdown/markdown";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { Editor } from "./editor";
import { MessageVersions } from "./message-versions";
import { RowActions } from "./row-actions";

const t = transcriptStrings.message;

const FOLD_LINES = 20;
const FOLD_CHARACTERS = 2400;

export function UserMessage({ message }: { message: Message }) {
  const { actions, chatId } = useChatActions();
  const { authors } = useChatMeta();
  const author = authors.get(message.author_id ?? "");
  const text = textOf(message.parts);
  const kept = `edit.${chatId}.${message.seq}`;
  const [edited, setEdited] = useState<string | null>(() => loadDraft(kept).text || null);
  const change = (words: string | null) => {
    saveDraft(kept, words === null ? NO_DRAFT : { text: words, attachments: [] });
    setEdited(words);
  };
  const heading = <h2 className="sr-only">{t.heading(author ?? t.you, firstLine(text, 80))}</h2>;
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
      <UserMessageBody text={text} seq={message.seq} parts={message.parts} />
      <Meta message={message} text={text} onEdit={actions === null ? null : () => change(text)} />
    </div>
  );
}

interface UserMessageBodyProps {
  text: string;
  seq: number;
  parts: readonly MessagePart[];
}

function UserMessageBody({ text, seq, parts }: UserMessageBodyProps) {
  const { isOpen, toggle } = useFold(`said.${seq}`);
  const isLong = text.length > FOLD_CHARACTERS || countLines(text, FOLD_LINES + 1) > FOLD_LINES;
  const isFolded = isLong && !isOpen;
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
          variant="plain"
          size="small"
          className="-ml-2 mt-1"
          aria-expanded={!isFolded}
          onClick={toggle}
        >
          {isFolded ? t.showAll(countLines(text)) : t.showLess}
        </Button>
      )}
      <Attached parts={parts} />
    </div>
  );
}

function Attached({ parts }: { parts: readonly MessagePart[] }) {
  const chips = parts.flatMap((part, at) => {
    if (part.type === "file") return [{ at, Glyph: File, name: part.name || part.media_type }];
    if (part.type === "file_reference")
      return [{ at, Glyph: FileCode2, name: referenceName(part) }];
    if (part.type === "skill") return [{ at, Glyph: Wand, name: part.name }];
    return [];
  });
  if (chips.length === 0) return null;
  return (
    <ul aria-label={t.attached} className="mt-2 flex flex-wrap gap-1">
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

function referenceName(part: Extract<MessagePart, { type: "file_reference" }>): string {
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
        <CopyButton label={t.copy} data-row-action="copy" text={() => text} />
        {onEdit !== null && (
          <Button
            variant="plain"
            size="iconSmall"
            aria-label={t.edit}
            tooltip={t.edit}
            data-row-action="edit"
            onClick={onEdit}
          >
            <Pencil aria-hidden />
          </Button>
        )}
      </RowActions>
      <MessageVersions message={message} />
    </div>
  );
}
