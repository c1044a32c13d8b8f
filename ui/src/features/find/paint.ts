/**
 * What was found, painted over the text by the browser (CSS custom highlights): no element is made,
 * so nothing moves and React knows nothing of it. Where there are none, rows are still gone to.
 */

const ALL = "found";
const HERE = "found-here";

interface Ranges {
  readonly all: readonly Range[];
  readonly here: readonly Range[];
}

/** By log: a highlight has one name in the whole document, and several panes may show one. */
const painted = new Map<HTMLElement, Ranges>();

function show(): void {
  if (painted.size === 0) {
    CSS.highlights.delete(ALL);
    CSS.highlights.delete(HERE);
    return;
  }
  const ranges = [...painted.values()];
  CSS.highlights.set(ALL, new Highlight(...ranges.flatMap(({ all }) => all)));
  CSS.highlights.set(HERE, new Highlight(...ranges.flatMap(({ here }) => here)));
}

/** Paints in `log` until the result is called, also what comes into view later. */
export function paint(log: HTMLElement | null, wanted: string, key: string | null): () => void {
  if (wanted === "" || log === null || !("highlights" in CSS)) return () => {};
  let frame = 0;
  let isSeen = false;
  const draw = () => {
    const ranges = rangesIn(log, wanted.toLowerCase(), key);
    painted.set(log, ranges);
    show();
    const first = ranges.here[0];
    if (first === undefined || isSeen) return;
    isSeen = true; // once: afterwards the scroll is the reader's
    bringIntoView(log, first);
  };
  const soon = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  };
  const watch = new MutationObserver(soon);
  watch.observe(log, { childList: true, subtree: true, characterData: true });
  soon();
  return () => {
    cancelAnimationFrame(frame);
    watch.disconnect();
    painted.delete(log);
    show();
  };
}

function rangesIn(log: HTMLElement, needle: string, key: string | null): Ranges {
  const all: Range[] = [];
  const here: Range[] = [];
  const walker = document.createTreeWalker(log, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + needle.length, node.nodeValue?.length ?? 0));
      const row = node.parentElement?.closest<HTMLElement>("[data-key]");
      (row?.dataset.key === key ? here : all).push(range);
    }
  }
  return { all, here };
}

/** Of a row that is higher than the screen, the words themselves. */
function bringIntoView(log: HTMLElement, range: Range): void {
  const words = range.getBoundingClientRect();
  const seen = log.getBoundingClientRect();
  if (words.top < seen.top + 56) log.scrollTop -= seen.top + 56 - words.top;
  else if (words.bottom > seen.bottom - 24) log.scrollTop += words.bottom - seen.bottom + 24;
}
