/** What the address of a chat says beside its id. Small: the router imports it. */
export interface ChatSearch {
  /** The seq of the message to go to. */
  readonly m?: number | undefined;
}

/** The address can be edited by hand: only a seq is kept. */
export function validateChatSearch({ m }: Record<string, unknown>): ChatSearch {
  return { m: Number.isSafeInteger(m) && (m as number) > 0 ? (m as number) : undefined };
}
