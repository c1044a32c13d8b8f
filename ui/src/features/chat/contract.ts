/** What the shell gives to the transcript and the composer, and what it asks of them. */

import type { Branch } from "@holdfast/client";
import type { Effort, Models } from "@/api/queries/models";
import type { ChatActions, Draft, WhenBusy } from "@/engine/actions";
import type { ChatLog } from "@/engine/chat-store";
import type { SendKey } from "@/features/composer/keys";

export interface TranscriptProps {
  readonly models: readonly string[];
  /** Whether whoever looks may also write; who may not is told so, and sees no buttons. */
  readonly mayWrite: boolean;
  /** Histories that edits left behind; asked for by whoever mounts this, after every change of history. */
  readonly paths?: readonly Branch[];
  /** Names of those who said something and are not the one who looks. */
  readonly authors?: ReadonlyMap<string, string>;
  /** The seq of the message that the address names. */
  readonly seq?: number | undefined;
}

export interface ComposerProps {
  /** Null: a chat that does not exist yet; the first message begins it. */
  readonly chatId: string | null;
  /** Null with a chat that does not exist yet. */
  readonly log: ChatLog | null;
  /** Null with a chat that does not exist yet: then only `onSend` is used. */
  readonly actions: ChatActions | null;
  readonly models: readonly string[];
  readonly defaultModel: string | null;
  /** By model: how hard it can be told to think, in rising order. */
  /** By model: what it is and can do. */
  readonly cards?: Models["cards"];
  readonly efforts?: Readonly<Record<string, readonly Effort[]>>;
  /** By model that can search the web: whether it does unless told otherwise. */
  readonly searches?: Readonly<Record<string, boolean>>;
  readonly onSend: (draft: Draft, whenBusy: WhenBusy) => void;
  /** Not null: nothing can be sent, and this says why. */
  readonly refused: string | null;
  /** Which key sends; Enter unless said otherwise. */
  readonly sendKey?: SendKey;
}
