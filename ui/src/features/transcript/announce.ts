/**
 * What a screen reader announces of a turn: that it began, now and then what is running, how it ended
 * and its whole answer; never the deltas. Pure; the region keeps the state and the time.
 */

import { sentence } from "@/features/tools/words";
import { transcriptStrings } from "@/i18n/en/transcript";
import { firstLine } from "@/lib/format";
import { type Foot, type FootItem, type Item, isPause } from "./items";

const t = transcriptStrings.announce;

export const QUIET_MS = 7000;

export interface AnnouncerState {
  /** The foot that was last spoken about. */
  turn: number;
  is: Foot["is"] | "nothing";
  /** Of what is running: each is announced once. */
  call: string;
  at: number;
}

export interface Announcement {
  state: AnnouncerState;
  polite: string | null;
  assertive: string | null;
}

export const NOT_ANNOUNCED: AnnouncerState = { turn: -1, is: "nothing", call: "", at: 0 };

export function announce(state: AnnouncerState, items: readonly Item[], now: number): Announcement {
  const foot = items.findLast((item) => item.kind === "foot");
  const silent = { state, polite: null, assertive: null };
  if (foot === undefined) return silent;
  // The past of a chat is not announced when it is opened.
  if (state.is === "nothing")
    return { ...silent, state: { ...state, turn: foot.turn, is: foot.foot.is, at: now } };
  const isNew = foot.turn !== state.turn || foot.foot.is !== state.is;
  const next = { ...state, turn: foot.turn, is: foot.foot.is };
  if (isNew) return begun(next, foot, now);
  return foot.foot.is === "going" ? running(next, foot.foot, now) : silent;
}

function begun(state: AnnouncerState, { foot }: FootItem, now: number): Announcement {
  const at = { ...state, at: now, call: "" };
  switch (foot.is) {
    case "going":
      if (foot.phase === "awaiting") return running(at, foot, now);
      return { state: at, polite: t.started, assertive: null };
    case "over":
      return { state: at, polite: t.finished(foot.ends.calls, foot.answer), assertive: null };
    case "retrying":
      return { state: at, polite: t.retrying(foot.retry.error.message), assertive: null };
    case "failed":
      if (isPause(foot.error)) return { state: at, polite: null, assertive: t.paused };
      return { state: at, polite: null, assertive: t.failed(foot.error.message) };
  }
}

function running(
  state: AnnouncerState,
  foot: Extract<Foot, { is: "going" }>,
  now: number,
): Announcement {
  const silent = { state, polite: null, assertive: null };
  const { what, phase } = foot;
  if (what === null || what.state === "writing" || what.id === state.call) return silent;
  if (phase === "awaiting") {
    // The status may come a frame before the calls that wait; until then the call seems to run.
    if (what.state !== "awaiting") return silent;
    return {
      state: { ...state, call: what.id, at: now },
      polite: null,
      assertive: t.needsInput(sentence(what)),
    };
  }
  if (now - state.at < QUIET_MS) return silent;
  return {
    state: { ...state, call: what.id, at: now },
    polite: firstLine(sentence(what)),
    assertive: null,
  };
}
