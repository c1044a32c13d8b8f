/** The words of the stream, as the server's contract has them; made from `api/schema.gen.ts`. */
import type { components } from "@/api/schema.gen";

type Schemas = components["schemas"];

export type Message = Schemas["Message"];
export type Part = Message["parts"][number];
export type TextPart = Schemas["TextPart"];
export type ReasoningPart = Schemas["ReasoningPart"];
export type ToolCallPart = Schemas["ToolCallPart"];
export type ToolResultPart = Schemas["ToolResultPart"];
export type Takeover = Schemas["Takeover"];
export type QueuedMessage = Schemas["QueuedMessage"];
export type StatusNow = Schemas["StatusNow"];
export type Status = StatusNow["status"];
export type Retry = Schemas["Retry"];
export type ChatError = Schemas["Error"];
export type ActionRequired = Schemas["ActionRequired"];
export type ChatEntry = Schemas["ChatEntry"];
export type Delta = Schemas["Delta"];
export type LivePart = Schemas["LivePart"];
export type Taken = Schemas["Taken"];
export type Committed = Schemas["Committed"];
export type OlderPath = Schemas["OlderPath"];
export type StreamEvent = Schemas["StreamEvent"];

/** An event as it comes off the wire: a newer server may have kinds that we do not know. */
export interface WireEvent {
  readonly event: string;
  readonly data: unknown;
  readonly id?: string | null;
}
