/** Strings of the chat page. */
export const chatStrings = {
  chat: {
    conversation: "Conversation",
    sending: "Sending…",
    rename: "Rename this chat",
    hello: "What would you like to work on?",
    helloHint: "Runs on the server. You can close this page and come back any time.",
    suggestions: "Suggestions",
    suggested: [
      {
        title: "What can you do?",
        text: "Tell me in a few lines what you can do here.",
        needsWorkspace: false,
      },
      {
        title: "Run something",
        text: "Create a workspace, and show me which languages and tools are in it.",
        needsWorkspace: true,
      },
      {
        title: "Write with me",
        text: "Help me write a short announcement. Ask me what it is about.",
        needsWorkspace: false,
      },
    ],
    missing: "Chat not found, or you don’t have access.",
    archivedBanner: (own: boolean) =>
      own ? "This chat is archived. Unarchive it to continue." : "This chat is archived.",
    bringBack: "Unarchive",
    readOnly: (owner: string | undefined) =>
      owner === undefined
        ? "View only: shared with you by its owner"
        : `View only: shared by ${owner}`,
    starting: "Starting the chat…",
    unsent: "Not sent yet",
  },

  meter: {
    title: "Context",
    label: (said: string) => `Context: ${said} full. Show details`,
    of: (used: string, window: string) => `${used} of ${window} tokens, as of the last reply`,
    unknown: "Tokens of the last reply. Context size unknown for this model.",
    model: "Model",
    defaultModel: "default",
    input: "Input",
    cached: "of which cached",
    output: "Output",
    left: "Remaining",
    cost: "Cost of loaded messages",
    compact: "Summarise earlier messages",
    compactHint: "The model reads a summary from then on. You still see every message.",
    compactBusy: "Available when the turn has ended.",
  },

  find: {
    open: "Find in this chat",
    label: "Find in this chat",
    earlier: "Earlier",
    later: "Later",
    count: (at: number | null, count: number, loading: boolean) => {
      const found = count === 0 ? (loading ? "" : "no matches") : `${at ?? "–"} of ${count}`;
      return loading ? `${found} · searching earlier messages…` : found;
    },
  },

  lost: {
    workers: (count: number) => (count === 1 ? "worker lost" : `${count} workers lost`),
    continued: (after: string | null) =>
      after === null ? "continued" : `continued after ${after}`,
    repeated: (count: number, tools: string) =>
      `${count === 1 ? "1 call" : `${count} calls`} repeated: ${tools}`,
    unknown: (count: number) => `${count === 1 ? "1 call" : `${count} calls`} with unknown outcome`,
    nothing: "nothing repeated",
    attempts: (attempt: number, count: number) =>
      `This is from attempt ${attempt} at this step. ${count === 1 ? "1 worker was" : `${count} workers were`} lost.`,
    kept: "The text so far is kept, and the answer continues from there.",
    anew: "The step started again.",
    fate: {
      joined: "resumed; not run twice",
      repeated: "run again; repeating it is safe",
      unknown: "outcome unknown; not run again",
      not_started: "had not been started",
    } as Readonly<Record<string, string | undefined>>,
  },
} as const;
