/**
 * What somebody has begun to write, per chat, kept in this browser: it survives a reload, a crash of
 * the page and an upgrade. A new chat's draft lives under `new` until the chat has an id.
 */

import type { Attachment } from "./paste";

export interface Draft {
  text: string;
  attachments: readonly Attachment[];
}

export const NO_DRAFT: Draft = { text: "", attachments: [] };
export const NEW_CHAT = "new";

const PREFIX = "holdfast.draft.";
/** Beyond this a browser may refuse; the words are kept, the attachments are not. */
const KEPT_CHARACTERS_MAX = 500_000;

export function isEmpty(draft: Draft): boolean {
  return draft.text.trim() === "" && draft.attachments.length === 0;
}

export function loadDraft(chat: string, store: Storage | null = storage()): Draft {
  try {
    const kept: unknown = JSON.parse(store?.getItem(PREFIX + chat) ?? "null");
    return isDraft(kept) ? kept : NO_DRAFT;
  } catch {
    return NO_DRAFT; // somebody else's words under our key
  }
}

export function saveDraft(chat: string, draft: Draft, store: Storage | null = storage()): void {
  try {
    if (isEmpty(draft)) store?.removeItem(PREFIX + chat);
    else store?.setItem(PREFIX + chat, JSON.stringify(bounded(draft)));
  } catch {
    // The store is full or forbidden. The draft is still in the page; nothing else can be done.
  }
}

// Words that come from elsewhere in the page: a message that was taken back.
const takers = new Map<string, (text: string) => void>();

/** Into the composer of a chat if it is open, else into its draft. */
export function offerDraft(chat: string, text: string): void {
  const taker = takers.get(chat);
  const draft = loadDraft(chat);
  if (taker !== undefined) taker(text);
  else saveDraft(chat, { ...draft, text: joined(draft.text, text) });
}

export function takeOffers(chat: string, taker: (text: string) => void): () => void {
  takers.set(chat, taker);
  return () => {
    if (takers.get(chat) === taker) takers.delete(chat);
  };
}

/** What was begun stays; what comes is added below it. */
export function joined(begun: string, added: string): string {
  return begun.trim() === "" ? added : `${begun.trimEnd()}\n\n${added}`;
}

function bounded(draft: Draft): Draft {
  const size = draft.attachments.reduce((sum, one) => sum + one.text.length, draft.text.length);
  return size > KEPT_CHARACTERS_MAX ? { text: draft.text, attachments: [] } : draft;
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null) return false;
  const { text, attachments } = value as Partial<Draft>;
  return typeof text === "string" && Array.isArray(attachments) && attachments.every(isAttachment);
}

function isAttachment(value: unknown): value is Attachment {
  if (typeof value !== "object" || value === null) return false;
  const { id, name, text } = value as Partial<Attachment>;
  return [id, name, text].every((field) => typeof field === "string");
}

function storage(): Storage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null; // forbidden by the browser's settings
  }
}
