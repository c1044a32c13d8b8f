/**
 * How far the reader's line moves when something happens: `npm run scroll`. It must not move at all.
 *
 * A transcript of 1,000 messages on the stage, in the system's Chromium. Each case notes where a row
 * is, lets something happen, and looks again; or notes how far the end is while it is followed.
 */
import { chromium } from "playwright-core";
import { createServer } from "vite";

const server = await createServer({
  server: { port: 0, host: "127.0.0.1", hmr: false, watch: null },
  logLevel: "error",
});
await server.listen();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
page.setDefaultTimeout(180_000); // a machine may be busy
const wrong = [];
page.on("pageerror", (error) => wrong.push(error.message));
const found = [];
let elements = 0;
let shift = 0;
/** What rounds to 0.00: the buttons of the composer change with the status. */
const SHIFT_MAX = 0.005;

/** A few frames: what was told is reduced, drawn, measured and settled. */
async function settle() {
  await page.waitForTimeout(400);
}

const distance = () =>
  page.$eval("[role=log]", (list) =>
    Math.abs(list.scrollHeight - list.clientHeight - list.scrollTop),
  );

/** The first row that is wholly in sight, and where it is. */
const firstRow = () =>
  page.evaluate(() => {
    const list = document.querySelector("[role=log]").getBoundingClientRect();
    const row = [...document.querySelectorAll("article")]
      .map((each) => ({ key: each.dataset.key, top: each.getBoundingClientRect().top }))
      .filter(({ top }) => top >= list.top)
      .sort((a, b) => a.top - b.top)[0];
    return row;
  });

const topOf = (key) =>
  page.evaluate((wanted) => {
    const row = [...document.querySelectorAll("article")].find(
      (each) => each.dataset.key === wanted,
    );
    return row === undefined ? Number.POSITIVE_INFINITY : row.getBoundingClientRect().top;
  }, key);

async function still(name, happen) {
  const row = await firstRow();
  await happen();
  await settle();
  found.push([name, Math.abs((await topOf(row.key)) - row.top)]);
}

async function followed(name, happen) {
  await happen();
  await settle();
  found.push([name, await distance()]);
}

async function wheel(by) {
  await page.mouse.move(500, 300);
  await page.mouse.wheel(0, by);
  await settle();
}

const stream = (count) =>
  page.evaluate(async (n) => {
    for (let at = 1; at <= n; at++) {
      globalThis.said = (globalThis.said ?? 0) + 1;
      globalThis.stage.part(
        globalThis.said,
        `word ${at} and some more of it. ${at % 9 === 0 ? "\n\n" : ""}`,
      );
      await new Promise(requestAnimationFrame);
    }
  }, count);

try {
  await page.goto(`${server.resolvedUrls.local[0]}src/dev/gallery/stage.html?messages=1000`);
  await page.waitForSelector("article");
  await followed("opened at the end", () => {});
  await followed("a turn begins", () =>
    page.evaluate(() => {
      globalThis.stage.ask("Go on.");
      globalThis.stage.status("running");
    }),
  );
  await followed("followed while it is said", () => stream(60));
  await followed("the window becomes lower", () =>
    page.setViewportSize({ width: 1000, height: 600 }),
  );
  await followed("the window becomes higher", () =>
    page.setViewportSize({ width: 1000, height: 800 }),
  );
  await wheel(-30);
  await still("said on after a little look back", () => stream(60));
  await wheel(-1500);
  await still("said on while somebody reads", () => stream(60));
  await still("the turn ends while somebody reads", () =>
    page.evaluate(() => {
      globalThis.stage.commit("All of it, in the end. ".repeat(40));
      globalThis.stage.status("idle", 0);
      globalThis.said = 0;
    }),
  );
  await wheel(-1500);
  await still("50 older messages come", () => page.evaluate(() => globalThis.stage.prepend(50)));
  await page.$eval("[role=log]", (list) => list.scrollTo(0, 0));
  await settle();
  await still("200 older messages come at the very top", () =>
    page.evaluate(() => globalThis.stage.prepend(200)),
  );
  await wheel(3000);
  await opened();
  const jump = page.getByRole("button", { name: /Jump to latest/ });
  await followed("jumped to the end", () => jump.click());
  await followed("a turn begins and is said", async () => {
    await page.evaluate(() => {
      globalThis.stage.ask("And again.");
      globalThis.stage.status("running");
      globalThis.said = 0;
    });
    await stream(30);
  });
  await steps(6);
  await wheel(-60);
  await still("the turn ends while somebody reads its steps", () =>
    end("Done with all six. ".repeat(60)),
  );
  await jump.click();
  await settle();
  shift = await shiftOver(async () => {
    await page.evaluate(() => {
      globalThis.stage.ask("A whole turn.");
      globalThis.stage.status("running", 0);
    });
    await settle();
    await page.evaluate(() => globalThis.stage.status("running"));
    await stream(30);
    await end("word ".repeat(60));
    await settle();
  });
  elements = await page.$$eval("*", (all) => all.length);
} finally {
  await browser.close();
  await server.close();
}

/** So many steps of a turn that goes on. */
async function steps(count) {
  await page.evaluate(async (n) => {
    const { stage } = globalThis;
    stage.ask("Step by step.");
    stage.status("running");
    for (let at = 0; at < n; at++) {
      const seq = stage.log.now.messages.at(-1).seq + 1;
      const [call, result] = stage.history(10_022, 2);
      const id = `s${seq}`;
      stage.tell("message.created", {
        ...call,
        seq,
        parts: call.parts.map((part) => ({ ...part, call_id: id })),
      });
      stage.tell("message.created", {
        ...result,
        seq: seq + 1,
        parts: result.parts.map((part) => ({ ...part, call_id: id })),
      });
      await new Promise(requestAnimationFrame);
    }
  }, count);
  await settle();
}

async function end(text) {
  await page.evaluate((said) => {
    globalThis.stage.commit(said);
    globalThis.stage.status("idle", 0);
    globalThis.said = 0;
  }, text);
}

/** The layout shift that the browser itself counts. */
async function shiftOver(happen) {
  await page.evaluate(() => {
    globalThis.shift = 0;
    globalThis.shifted = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.hadRecentInput) continue;
        globalThis.shift += entry.value;
        globalThis.shifted.push(
          ...entry.sources.map(({ node }) => node?.parentElement?.outerHTML.slice(0, 90)),
        );
      }
    }).observe({ type: "layout-shift" });
  });
  await page.waitForTimeout(600); // the press before counts as input for half a second
  await happen();
  for (const html of await page.evaluate(() => globalThis.shifted))
    process.stdout.write(`moved: ${html}\n`);
  return page.evaluate(() => globalThis.shift);
}

/** A run in sight is opened: its head stays where it is. */
async function opened() {
  const heads = page.locator("article:has(button[aria-expanded=false])");
  const key = await heads.evaluateAll((rows) => {
    const inSight = rows.find(
      (row) => row.getBoundingClientRect().top > 80 && row.getBoundingClientRect().bottom < 600,
    );
    return inSight?.dataset.key ?? null;
  });
  if (key === null) return void found.push(["a run in sight is opened (none was in sight)", 1]);
  const before = await topOf(key);
  await page.locator(`article[data-key="${key}"] button[aria-expanded]`).first().click();
  await settle();
  found.push(["a run in sight is opened", Math.abs((await topOf(key)) - before)]);
}

for (const [name, px] of found) process.stdout.write(`${px.toFixed(1).padStart(8)} px  ${name}\n`);
process.stdout.write(`${shift.toFixed(4)} layout shift over a whole turn\n`);
process.stdout.write(`${elements} elements in the page\n`);
for (const message of wrong) process.stderr.write(`${message}\n`);
// Positions are fractions of a pixel; what is less than one cannot be seen.
process.exitCode =
  wrong.length > 0 || elements > 3000 || shift >= SHIFT_MAX || found.some(([, px]) => !(px < 1))
    ? 1
    : 0;
