/** Strings of the transcript. */
import { plural } from "@/lib/format";

const withModel = (model: string | null) => (model === null ? "" : ` with ${model}`);

export const transcriptStrings = {
  thinking: "Thinking",
  thought: "Thought",
  sources: "Sources",
  jump: "Jump to latest",
  jumpTo: {
    missing: "The message of this link is not in the chat.",
    failed: "The message of this link could not be loaded. Reload the page to try again.",
  },
  fresh: (rows: number) => `${rows} new`,
  loadEarlier: "Load earlier messages",
  loadingEarlier: "Loading earlier messages…",
  soFar: (steps: string) => `${steps} so far`,

  empty: "Describe what you want done",
  emptyHint: "Runs on the server. You can close this page and come back any time.",
  loading: "Loading the chat",
  unavailable: "Chat not found",
  unavailableHint: "It does not exist, or you don’t have access.",

  break: {
    interrupted: "Stopped",
    cut: "The reply was cut off.",
    continue: "Continue",
    /** The message that the button sends. */
    continueMessage: "Continue.",
  },

  summary: {
    title: "Earlier messages were summarised for the model",
    show: "Show summary",
    hide: "Hide summary",
  },

  pending: {
    title: "Sending",
    sending: "Sending…",
    waiting: "Not sent yet: the server does not answer. It is kept here and sent by itself.",
    failed: (why: string | null) => `Not sent. ${why ?? ""}`,
    now: "Try now",
    resend: "Send again",
    edit: "Edit",
  },

  message: {
    you: "You",
    heading: (author: string, text: string) => `${author} said: ${text}`,
    showAll: (lines: number) => `Show all ${plural(lines, "line", "lines")}`,
    showLess: "Show less",
    attached: "Attached",
    copy: "Copy message",
    edit: "Edit",
  },

  versions: {
    previous: "Previous version",
    next: "Next version",
    place: (at: number, count: number) => `${at} / ${count}`,
    shown: (at: number, count: number) => `Version ${at} of ${count}`,
    present: "The chat shows this version.",
    kept: "The version that the chat shows now is kept. File changes are not undone.",
    continueFrom: "Continue from this version",
    loading: "Loading…",
    earlier: (messages: number) => `${plural(messages, "message", "messages")} before these`,
    calls: (count: number) => plural(count, "tool call", "tool calls"),
    user: "Message",
    assistant: "Answer",
  },

  editor: {
    form: "Edit message",
    field: "Message",
    hint: "Later messages are kept as another version. File changes are not undone.",
    send: "Save & resend",
    sending: "Sending…",
    failed: "The edit did not reach the server.",
  },

  turn: {
    copy: "Copy answer",
    regenerate: "Regenerate",
    regenerateHint: "Regenerate (this answer is kept as an older version)",
    tokens: (input: string | null, cached: string | null, output: string | null) => {
      const read = cached === null ? `${input} in` : `${input} in (${cached} cached)`;
      const pieces = [
        ...(input === null ? [] : [read]),
        ...(output === null ? [] : [`${output} out`]),
      ];
      return pieces.length === 0 ? "" : `${pieces.join(", ")} tokens`;
    },
    phases: {
      waiting: "Waiting for a worker",
      thinking: "Thinking",
      writing: "Writing",
      running: "Working", // the card above names the tool
      stopping: "Stopping…",
      awaiting: "Needs your input",
    },
    silent: (time: string) => `· nothing new for ${time}`,
    retryingNow: (attempt: number, model: string | null) =>
      `Trying again now${withModel(model)} · attempt ${attempt}`,
    retryingIn: (time: string, attempt: number, model: string | null) =>
      `Trying again in ${time}${withModel(model)} · attempt ${attempt}`,
    tryNow: "Try now",
    trying: "Trying…",
    stop: "Stop",
    stopping: "Stopping…",
    retrying: "Retrying…",
    retryWith: "Retry with…",
    copyDetails: "Copy details",
    details: {
      title: "Details",
      requestId: (id: string) => `Request id: ${id}`,
      none: "The provider gave no details.",
      failed: "The details could not be read.",
    },
    paused: {
      title: "Paused",
      details: "Many replies in a row",
      next: "The agent has used the replies of this turn. Go on to allow as many more, or send a message.",
      goOn: "Go on",
      goingOn: "Going on…",
    },
    ended: "The turn ended here. Earlier text is kept.",
    /** What to do next, by the type of the error. */
    next: {
      rate_limit: "The provider’s rate limit is reached. Wait a moment, or use another model.",
      overloaded: "The provider is busy. Retry in a while, or use another model.",
      timeout: "No answer came in time. Retrying often helps.",
      stream_closed: "The provider closed the connection. Retrying often helps.",
      unavailable: "The provider cannot be reached. Retry in a while, or use another model.",
      auth: "The provider refuses the server's key. Ask an administrator to check the model’s settings.",
      config: "The model is not configured correctly. Ask an administrator to check its settings.",
      context_overflow:
        "The chat is too long for this model. Compact it, or use a model with a larger context window.",
      content_filter:
        "The provider refuses to answer this. Say it differently, or use another model.",
      usage_limit:
        "A usage limit is reached. Wait until it resets, or ask an administrator to raise it.",
    } as Readonly<Record<string, string | undefined>>,
  },

  announce: {
    started: "Agent started",
    retrying: (error: string) => `${error} Trying again.`,
    failed: (error: string) => `The turn failed. ${error}`,
    paused: "The turn is paused. Go on, or send a message.",
    needsInput: (call: string) => `Needs your input: ${call}`,
    finished: (steps: number, answer: string) => {
      const end = steps === 0 ? "Finished" : `Finished, ${plural(steps, "step", "steps")}`;
      return answer === "" ? end : `${end}. ${answer}`;
    },
  },
} as const;
