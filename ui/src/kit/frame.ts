/** One moment per frame in which all that has changed is told, so that React draws it in one go. */

/** When to tell: once per frame, or, where nothing is painted, soon. */
export type Schedule = (tell: () => void) => void;

const HIDDEN_MS = 250;
let waiting: (() => void)[] = [];

export const onFrame: Schedule = (tell) => {
  waiting.push(tell);
  if (waiting.length > 1) return;
  if (document.visibilityState === "hidden") setTimeout(tellAll, HIDDEN_MS);
  else requestAnimationFrame(tellAll);
};

// A tab that goes out of sight has no more frames, and what waits for one would wait with it.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") setTimeout(tellAll, HIDDEN_MS);
});

function tellAll(): void {
  const all = waiting;
  waiting = [];
  for (const tell of all) tell();
}
