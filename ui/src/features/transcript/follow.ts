/**
 * Whether the transcript follows what is said or is being read: by what the reader does, never by
 * what arrives. Pure; `FollowStore` feeds it with signs, and the virtual list alone moves the scroll.
 *
 * Reading begins with the first sign that somebody looks at something older. Following comes back
 * only when the reader goes to the end, jumps there or sends.
 */

export const NEAR_END_PX = 80;
/** Scroll positions are fractions, and rounded. */
const AT_END_PX = 1;

type Mode = "following" | "reading";

export interface Follow {
  mode: Mode;
  /** Rows that came at the end since reading began. */
  fresh: number;
  /** Where the scroll was last, and how far from the end. */
  top: number;
  distance: number;
}

export type Sign =
  /** Wheel up, PageUp, Home, a finger that drags, a selection, focus in an older row. */
  | { kind: "looks back" }
  | { kind: "scrolled"; top: number; distance: number }
  | { kind: "jumps to the end" }
  | { kind: "sends" }
  | { kind: "rows came"; rows: number };

export const AT_END: Follow = { mode: "following", fresh: 0, top: 0, distance: 0 };

export function follow(state: Follow, sign: Sign): Follow {
  switch (sign.kind) {
    case "looks back":
      return state.mode === "reading" ? state : { ...state, mode: "reading", fresh: 0 };
    case "scrolled":
      return scrolled(state, sign.top, sign.distance);
    case "jumps to the end":
    case "sends":
      return { ...state, mode: "following", fresh: 0 };
    case "rows came":
      if (state.mode === "following" || sign.rows <= 0) return state;
      return { ...state, fresh: state.fresh + sign.rows };
  }
}

function scrolled(state: Follow, top: number, distance: number): Follow {
  const moved = { ...state, top, distance };
  const isNearer = distance < state.distance;
  if (state.mode === "following") {
    // Up and away from the end, without a wheel or a key: the bar was dragged.
    const isDragged = top < state.top && distance > state.distance && distance > NEAR_END_PX;
    return isDragged ? { ...moved, mode: "reading", fresh: 0 } : moved;
  }
  // Down and nearer: the list itself moves the scroll when rows above change their height, and then
  // the distance stays; a last row that shrinks brings the end nearer, and then the scroll stays.
  const wentDown = top > state.top && isNearer && distance <= NEAR_END_PX;
  const isThere = isNearer && distance <= AT_END_PX;
  return wentDown || isThere ? { ...moved, mode: "following", fresh: 0 } : moved;
}

/** Keys with which somebody looks back. */
export const LOOKS_BACK: ReadonlySet<string> = new Set(["PageUp", "Home", "ArrowUp"]);
