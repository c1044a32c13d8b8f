// Looks at the page from inside, before any of it runs: what was drawn, when, and what it cost.
// It uses what React offers to its developer tools, which is there in the built page as well, so
// that nothing in the page has to know that it is being looked at.
(() => {
  const probe = {
    frame: 0,
    /** Commits of React by frame. */
    commits: new Map(),
    /** How often components were drawn, by where they are; only while `counting`. */
    drawn: {},
    counting: false,
    longTasks: [],
    shifts: [],
    /** Milliseconds from each key to the paint after it; those under 16 are not told. */
    keys: [],
    /** Frames in which words of another chat stood under the address of this one. */
    wrong: [],
    markers: {},
    /** When each of these was first on the screen. */
    first: {},
  };
  window.probe = probe;
  const LOOKED_FOR = {
    composer: "[data-composer]",
    sidebar: "nav[aria-label=Chats]",
    listed: "nav[aria-label=Chats] li a",
  };

  const after = new MessageChannel();
  after.port1.onmessage = () => {
    for (const [name, selector] of Object.entries(LOOKED_FOR)) {
      if (probe.first[name] === undefined && document.querySelector(selector) !== null)
        probe.first[name] = performance.now();
    }
    const address = location.pathname.split("/").at(-1);
    const log = document.querySelector("[role=log]");
    const others = Object.entries(probe.markers).filter(([chat]) => chat !== address);
    if (log === null || others.length === 0) return;
    const text = log.textContent;
    const seen = others.filter(([, marker]) => text.includes(marker));
    if (seen.length > 0) probe.wrong.push(`${seen[0][1]} at ${address} in frame ${probe.frame}`);
  };
  function tick() {
    probe.frame++;
    requestAnimationFrame(tick);
    after.port2.postMessage(0); // once this frame is on the screen
  }
  requestAnimationFrame(tick);

  /** Milliseconds from a click on the chat in the list until its last row is on the screen. */
  probe.open = (chat, last) =>
    new Promise((resolve) => {
      const began = performance.now();
      document.querySelector(`nav a[href$="${chat}"]`).click();
      const look = () => {
        const row = document.querySelector(`[data-key="${last}"]`);
        const log = document.querySelector("[role=log]");
        const isSeen =
          row !== null &&
          location.pathname.endsWith(chat) &&
          row.getBoundingClientRect().bottom <= log.getBoundingClientRect().bottom + 1;
        if (!isSeen) requestAnimationFrame(look);
        else setTimeout(() => resolve(performance.now() - began)); // once it is painted
      };
      requestAnimationFrame(look);
    });

  function observe(type, entry, options = {}) {
    new PerformanceObserver((list) => {
      for (const each of list.getEntries()) entry(each);
    }).observe({ type, buffered: true, ...options });
  }
  observe("longtask", ({ startTime, duration }) => probe.longTasks.push([startTime, duration]));
  observe("layout-shift", (shift) => {
    if (!shift.hadRecentInput) probe.shifts.push([shift.startTime, shift.value, where(shift)]);
  });
  observe(
    "event",
    ({ name, startTime, duration }) => {
      if (name === "keydown") probe.keys.push([startTime, duration]);
    },
    { durationThreshold: 16 },
  );

  function where(shift) {
    return shift.sources.map(({ node }) => node?.outerHTML?.slice(0, 120) ?? String(node?.data));
  }

  // React's own marks: https://github.com/facebook/react, ReactFiberFlags and ReactWorkTags.
  const PERFORMED_WORK = 1;
  const HOST = 5;
  const FUNCTIONS = new Set([0, 11, 14, 15]);

  /** The first element that a component made. */
  function elementOf(fiber) {
    for (let at = fiber; at !== null; at = at.child) if (at.tag === HOST) return at.stateNode;
    return null;
  }

  function placeOf(fiber) {
    const element = elementOf(fiber);
    if (element === null) return "nothing";
    const row = element.closest("[data-key]");
    if (row !== null) return `row ${row.dataset.key}`;
    if (element.closest("nav") !== null) return "sidebar";
    if (element.closest("form") !== null) return "composer";
    if (element.closest("header") !== null) return "header";
    const isAround = element.closest("[role=log]") ?? element.querySelector("[role=log]");
    return isAround === null ? "other" : "transcript";
  }

  function count(fiber) {
    if (FUNCTIONS.has(fiber.tag) && (fiber.flags & PERFORMED_WORK) !== 0) {
      const place = placeOf(fiber);
      probe.drawn[place] = (probe.drawn[place] ?? 0) + 1;
    }
    if (fiber.alternate !== null && fiber.child === fiber.alternate.child) return; // left as it was
    for (let at = fiber.child; at !== null; at = at.sibling) count(at);
  }

  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    isDisabled: false,
    supportsFiber: true,
    renderers: new Map(),
    inject: () => 1,
    checkDCE() {},
    onScheduleFiberRoot() {},
    onCommitFiberUnmount() {},
    onPostCommitFiberRoot() {},
    onCommitFiberRoot(_, root) {
      probe.commits.set(probe.frame, (probe.commits.get(probe.frame) ?? 0) + 1);
      if (probe.counting) count(root.current);
    },
  };
})();
