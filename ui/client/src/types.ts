/** Short names for the schemas of the OpenAPI document, and the envelope of events. */
import type { components } from "./schema.gen.js";

type Schemas = components["schemas"];

export type Message = Schemas["Message"];
export type MessagePart = Message["parts"][number];
export type ToolCallPart = Schemas["ToolCallPart"];
export type ToolResultPart = Schemas["ToolResultPart"];
export type Takeover = Schemas["Takeover"];
export type QueuedMessage = Schemas["QueuedMessage"];
export type ChatState = Schemas["ChatStateData"];
export type Status = ChatState["status"];
export type Retry = Schemas["Retry"];
export type ChatError = Schemas["Error"];
export type ActionRequired = Schemas["ActionRequired"];
export type Chat = Schemas["Chat"];
export type ChatSummary = Schemas["ChatSummary"];

export type PreviewDelta = Schemas["PreviewDeltaData"];
export type Delta = PreviewDelta["deltas"][number];
export type HistoryReset = Schemas["HistoryResetData"];
export type Receipt = Schemas["Receipt"];
export type Branch = Schemas["Branch"];
export type SendMessage = Schemas["SendMessage"];
export type StreamEvent = Schemas["StreamEvent"];
export type WatchEvent = Schemas["WatchEvent"];

/**
 * The envelope of an event: a newer server may have types that we do not know. `cursor`: null leaves
 * the reader where it was. `version`: the commit that it tells of. `final`: the last event of that
 * commit, or of a snapshot.
 */
export interface WireEvent {
  readonly type: string;
  readonly cursor: string | null;
  readonly version: number | null;
  readonly final: boolean;
  readonly data: unknown;
}
