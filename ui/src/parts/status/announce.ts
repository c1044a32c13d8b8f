/**
 * What a screen reader is told of a turn: that it began, now and then what is running, how it ended
 * and its whole answer; never the deltas. Pure; the region keeps the state and the time.
 */
import { firstLine, plural } from "../format";
import { sentence } from "../tools/words";
import type { Foot, FootItem, Item } from "../transcript/items";

export const QUIET_MS = 7000;

export interface Told {
  /** The foot that was last spoken about. */
  turn: number;
  is: Foot["is"] | "nothing";
  /** Of what is running: each is told once. */
  call: string;
  at: number;
}

export interface Announcement {
  told: Told;
  polite: string | null;
  assertive: string | null;
}

export const UNTOLD: Told = { turn: -1, is: "nothing", call: "", at: 0 };

export function announce(told: Told, items: readonly Item[], now: number): Announcement {
  const foot = items.findLast((item) => item.kind === "foot");
  const silent = { told, polite: null, assertive: null };
  if (foot === undefined) return silent;
  // A chat that is opened is not told from its past.
  if (told.is === "nothing")
    return { ...silent, told: { ...told, turn: foot.turn, is: foot.foot.is, at: now } };
  const isNew = foot.turn !== told.turn || foot.foot.is !== told.is;
  const next = { ...told, turn: foot.turn, is: foot.foot.is };
  if (isNew) return begun(next, foot, now);
  return foot.foot.is === "going" ? running(next, foot.foot, now) : silent;
}

function begun(told: Told, { foot }: FootItem, now: number): Announcement {
  const at = { ...told, at: now, call: "" };
  switch (foot.is) {
    case "going":
      if (foot.phase === "awaiting") return running(at, foot, now);
      return { told: at, polite: "Agent started", assertive: null };
    case "over":
      return { told: at, polite: ended(foot), assertive: null };
    case "retrying":
      return { told: at, polite: `${foot.retry.error.sentence} Trying again.`, assertive: null };
    case "failed":
      return { told: at, polite: null, assertive: `The turn failed. ${foot.error.sentence}` };
  }
}

function ended({ ends, answer }: Extract<Foot, { is: "over" }>): string {
  const steps = ends.calls === 0 ? "Finished" : `Finished, ${plural(ends.calls, "step")}`;
  return answer === "" ? steps : `${steps}. ${answer}`;
}

function running(told: Told, foot: Extract<Foot, { is: "going" }>, now: number): Announcement {
  const silent = { told, polite: null, assertive: null };
  const { what, phase } = foot;
  if (what === null || what.state === "writing" || what.id === told.call) return silent;
  if (phase === "awaiting") {
    // The status may come a frame before the calls that wait; until then the call seems to run.
    if (what.state !== "awaiting") return silent;
    return {
      told: { ...told, call: what.id, at: now },
      polite: null,
      assertive: `Needs your input: ${sentence(what)}`,
    };
  }
  if (now - told.at < QUIET_MS) return silent;
  return {
    told: { ...told, call: what.id, at: now },
    polite: firstLine(sentence(what)),
    assertive: null,
  };
}
