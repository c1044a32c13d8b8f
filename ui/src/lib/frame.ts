/**
 * One moment per frame in which all that has changed is told, so that React draws it in one go.
 *
 * A frame that takes long is followed by a rest: while a huge table grows, or on a slow machine, what
 * is told comes in fewer and larger steps, and there is time left for keys and scrolling.
 */

/** When to tell: once per frame, or, where nothing is painted, soon. */
export type Schedule = (tell: () => void) => void;

const HIDDEN_MS = 250;
/** A frame may take so long; what it takes beyond is rested for, so many times. */
const FRAME_MS = 24;
const REST = 3;
/** And no longer: a machine that slept, or had no time for us, has not drawn anything meanwhile. */
const REST_MS_MAX = 500;

let waiting: (() => void)[] = [];
let restUntil = 0;

export const onFrame: Schedule = (tell) => {
  waiting.push(tell);
  if (waiting.length > 1) return;
  const rest = restUntil - performance.now();
  if (document.visibilityState === "hidden") setTimeout(tellAll, HIDDEN_MS);
  else if (rest > 0) setTimeout(() => requestAnimationFrame(tellAll), rest);
  else requestAnimationFrame(tellAll);
};

// A tab that goes out of sight has no more frames, and what waits for one would wait with it.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") setTimeout(tellAll, HIDDEN_MS);
});

function tellAll(): void {
  const all = waiting;
  waiting = [];
  const began = performance.now();
  for (const tell of all) tell();
  afterPaint(() => {
    const now = performance.now();
    const beyond = Math.max(0, now - began - FRAME_MS);
    restUntil = now + Math.min(REST * beyond, REST_MS_MAX);
  });
}

/** A message waits until what was changed is drawn, laid out and painted. */
function afterPaint(then: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    then();
  };
  port2.postMessage(null);
}
