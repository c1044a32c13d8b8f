/**
 * Where a message that waits goes. The server is asked to place it *before* another (`null`: last),
 * because «one up» means something else when somebody else moved the rest meanwhile.
 */

export type Direction = "up" | "down" | "first" | "last";

export interface Move {
  queuedId: number;
  before: number | null;
}

export function move(ids: readonly number[], queuedId: number, direction: Direction): Move | null {
  const at = ids.indexOf(queuedId);
  if (at < 0) return null;
  const last = ids.length - 1;
  const to = { up: at - 1, down: at + 1, first: 0, last }[direction];
  return to < 0 || to > last ? null : moveTo(ids, queuedId, to);
}

/** To a place in the list, wherever that is; null: it is there already, or nowhere. */
export function moveTo(ids: readonly number[], queuedId: number, to: number): Move | null {
  const at = ids.indexOf(queuedId);
  const place = Math.max(0, Math.min(ids.length - 1, to));
  if (at < 0 || place === at) return null;
  const others = ids.filter((id) => id !== queuedId);
  return { queuedId, before: others[place] ?? null };
}

/** The order that a move leads to, to be shown until the server tells the real one. */
export function moved(ids: readonly number[], { queuedId, before }: Move): number[] {
  const others = ids.filter((id) => id !== queuedId);
  const at = before === null ? -1 : others.indexOf(before);
  if (at < 0) return [...others, queuedId];
  return [...others.slice(0, at), queuedId, ...others.slice(at)];
}

/** Alt with an arrow moves the row that has the focus. */
export function directionOf(key: string, isAlt: boolean): Direction | null {
  if (!isAlt) return null;
  const directions: Record<string, Direction> = {
    ArrowUp: "up",
    ArrowDown: "down",
    Home: "first",
    End: "last",
  };
  return directions[key] ?? null;
}
