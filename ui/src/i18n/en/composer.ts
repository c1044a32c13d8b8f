/** Strings of the message field and its queue. */
import { plural } from "@/lib/format";

const EFFORTS: Readonly<Record<string, string>> = {
  none: "No thinking",
  minimal: "Minimal",
  low: "Low",
  medium: "Medium",
  high: "High",
  xhigh: "Very high",
  max: "Maximum",
};

export const composerStrings = {
  label: "Message",
  labelBusy: "Message, sent when the agent is free",
  placeholder: "Ask anything",
  placeholderBusy: "Queue a follow-up…",
  empty: "Write something first",
  send: "Send",
  sendBusy: "Send when the agent is free",
  queueIt: "Queue",
  stop: "Stop",
  stopping: "Stopping…",
  stopHint: "Esc again to stop",
  stopFailed: "The server did not receive the stop. Try again.",
  notReceived: "The server did not receive this. Try again.",
  notInQueue: "That message is no longer in the queue. It was sent or removed.",

  whenToSend: "When to send",
  ways: {
    queue: { name: "After this turn", hint: "Waits in the queue until the agent is free" },
    interrupt: { name: "Interrupt and send", hint: "Stops the current turn and keeps its text" },
  },

  model: {
    label: (model: string) => `Model: ${model}`,
    menu: "Model for your next message",
    search: "Search models",
    none: "No matches",
    chosen: "Chosen",
    window: (tokens: string) => `${tokens} context`,
    price: (input: string, output: string) => `${input} in, ${output} out per 1M tokens`,
    thinks: "Thinking",
    images: "Images",
    documents: "PDF",
    web: "Web search",
    default: "Default",
    defaultModel: "Default model",
    serverDefault: "Server default",
  },

  effort: {
    label: (effort: string) => `Effort: ${effort}`,
    menu: "How hard the model thinks",
    default: "Default effort",
    defaultHint: "As the chat or the server says",
    name: (effort: string) => EFFORTS[effort] ?? effort,
  },

  planMode: {
    label: "Plan mode",
  },

  web: {
    label: "Web search",
  },

  attachments: {
    label: "Attached",
    name: (number: number) => `Pasted text ${number}`,
    size: (lines: number, bytes: string) => `${plural(lines, "line", "lines")}, ${bytes}`,
    remove: (name: string) => `Remove ${name}`,
    insert: "Insert as text",
  },

  queue: {
    label: "Queue",
    count: (messages: number) => `${plural(messages, "message", "messages")} in the queue`,
    countHint: "· sent one by one when the agent is free",
    waiting: "Sent when the server answers",
    paused: "Paused",
    resume: "Resume",
    clear: "Clear",
    attachment: "Attachment",
    next: "Next",
    more: (text: string) => `More: ${text}`,
    drag: "Drag to move",
    of: (action: string, text: string) => `${action}: ${text}`,
    withHint: (action: string, hint: string) => `${action} (${hint})`,
    up: { name: "Move up", hint: "Alt+↑" },
    down: { name: "Move down", hint: "Alt+↓" },
    now: { name: "Send now", hint: "stops the current turn" },
    edit: { name: "Edit", hint: "removes it from the queue" },
    delete: { name: "Delete", hint: "" },
  },
} as const;
