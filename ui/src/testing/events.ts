/** Events for tests. */
import type { WireEvent } from "@holdfast/client";

export function told(type: string, data: unknown, cursor: string | null = null): WireEvent {
  return { type, cursor, version: 1, final: true, data };
}
