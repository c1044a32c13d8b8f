/**
 * Pictures of the gallery, and what axe says about it: `npm run gallery [-- FOLDER]`.
 *
 * Every group of states, light and dark, comfortable and compact, at three widths, in the Chromium of
 * the system (`CHROMIUM`, else /usr/bin/chromium). Fails if axe finds anything serious or critical,
 * if the page asks any other host for anything, or if something is wider than the window.
 */
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { createServer } from "vite";

const PATIENCE_MS = 180_000; // a machine may be busy
const WIDTHS = [390, 820, 1280];
const LOOKS = [
  { theme: "light", density: "comfortable" },
  { theme: "dark", density: "comfortable" },
  { theme: "light", density: "compact" },
];
const folder = process.argv[2] ?? "gallery";
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const complaints = [];

function complain(words) {
  complaints.push(words);
  process.stderr.write(`${words}\n`);
}

const server = await createServer({
  server: { port: 0, host: "127.0.0.1", hmr: false, watch: null },
  logLevel: "error",
});
await server.listen();
const address = server.resolvedUrls?.local[0];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--force-color-profile=srgb"],
});
try {
  await mkdir(folder, { recursive: true });
  for (const look of LOOKS) for (const width of WIDTHS) await visit(look, width);
} finally {
  await browser.close();
  await server.close();
}
process.stdout.write(`${LOOKS.length * WIDTHS.length} visits, ${complaints.length} complaints\n`);
process.exitCode = complaints.length > 0 ? 1 : 0;

async function visit({ theme, density }, width) {
  const name = `${theme}-${density}-${width}`;
  const isTouch = width < 600;
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    reducedMotion: "reduce",
    hasTouch: isTouch,
    isMobile: isTouch,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => complain(`${name}: ${error.message}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && origin !== new URL(address).origin) {
      complain(`${name}: asked ${origin}`);
    }
  });
  await page.goto(`${address}src/dev/gallery/index.html?theme=${theme}&density=${density}`);
  await page.waitForSelector("[data-group=Transcript] article");
  await page.waitForTimeout(1500); // colours of code
  await checkWidth(page, name);
  // As high as it is, so that nothing is out of sight of the picture, nor of axe.
  const height = await page.evaluate(() => document.querySelector(".gallery").scrollHeight);
  await page.setViewportSize({ width, height: Math.min(height, 16_000) });
  await checkAxe(page, name);
  for (const group of await page.$$("[data-group]")) {
    const title = (await group.getAttribute("data-group")).toLowerCase();
    await group.screenshot({ path: `${folder}/${title}-${name}.png` });
  }
  await context.close();
}

async function checkWidth(page, name) {
  const wide = await page.evaluate(() => {
    const most = document.documentElement.clientWidth;
    const outside = (element) => element.getBoundingClientRect().right > most + 1;
    const scrolls = (element) => element.closest("pre, .overflow-auto, .table, .folded") !== null;
    return [...document.querySelectorAll(".gallery *")]
      .filter(
        (element) => outside(element) && !scrolls(element) && element.closest(".sr-only") === null,
      )
      .map((element) => `${element.tagName} ${element.className}`.slice(0, 120));
  });
  for (const element of wide.slice(0, 5)) complain(`${name}: wider than the window: ${element}`);
}

async function checkAxe(page, name) {
  await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() =>
    // The parts are shown out of their page: landmarks and headings are its own to have.
    globalThis.axe.run(document, { rules: { region: { enabled: false } } }),
  );
  for (const { id, impact, nodes } of violations) {
    if (impact !== "serious" && impact !== "critical") continue;
    const where = nodes
      .slice(0, 3)
      .map((node) => `${node.target.join(" ")}: ${node.any[0]?.message ?? ""}`);
    complain(`${name}: ${impact} ${id} (${nodes.length}): ${where.join(" | ")}`);
  }
  // A look that could not be measured is no pass: colours must have been compared.
  const compared = passes.find(({ id }) => id === "color-contrast")?.nodes.length ?? 0;
  if (compared < 100) complain(`${name}: only ${compared} contrasts could be compared`);
}
