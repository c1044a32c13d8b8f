/** Reading messages. */
import type { Message } from "./types.js";

export function textOf(parts: Message["parts"]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
