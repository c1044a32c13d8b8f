/**
 * Mutants of the page: each takes away one protection of the log, and a test must notice.
 *
 *   npm run mutants            all of them
 *   npm run mutants -- draft   those whose name has this in it
 *
 * With --canary the page as it is is not tested before: another stage of the gate does that.
 *
 * No file is touched: the change is made while the module is loaded. A mutant whose text is no longer
 * there fails, too: whoever moves a protection moves its mutant. Those that only a real browser can
 * notice are listed in tests/browser/README.md.
 */
import { startVitest } from "vitest/node";

const VIEW = ["src/log/view.test.ts", "src/log/view.property.test.ts"];
const STORE = ["src/log/store.test.ts"];
const STREAM = ["src/log/stream.test.ts"];
const FRAME = ["src/kit/frame.test.ts"];
const COMPOSER = ["src/parts/composer/composer.test.tsx"];

/** Name (what becomes possible), module, text, what stands there instead, tests that may notice. */
const MUTANTS = [
  [
    "a live part that comes twice is shown twice",
    "log/view.ts",
    "data.attempt !== preview.attempt || data.seq !== preview.seq + 1",
    "data.attempt !== preview.attempt",
    VIEW,
  ],
  [
    "a part of an attempt that is over is shown",
    "log/view.ts",
    "preview === null || preview.attempt < data.attempt",
    "preview === null || preview.attempt !== data.attempt",
    VIEW,
  ],
  [
    "a message that comes twice is shown twice",
    "log/view.ts",
    "last !== undefined && data.seq <= last.seq",
    "false",
    VIEW,
  ],
  [
    "what was previewed stays beside the message that it became",
    "log/view.ts",
    "messages: [...view.messages, data], preview: null",
    "messages: [...view.messages, data]",
    VIEW,
  ],
  [
    "an edit leaves what came after it",
    "log/view.ts",
    "view.messages.filter((message) => message.seq < data.from)",
    "view.messages",
    VIEW,
  ],
  [
    "an error is swallowed",
    "log/view.ts",
    "(view, error: ChatError) => ({ ...view, error })",
    "(view, _error: ChatError) => view",
    VIEW,
  ],
  ["the cursor is forgotten", "log/view.ts", "{ ...next, cursor: event.id }", "next", VIEW],
  [
    "a stream is resumed without its cursor",
    "log/stream.ts",
    "if (cursor !== null) headers[LAST_EVENT_ID] = cursor;",
    "",
    STREAM,
  ],
  [
    "a server that is away for a moment is taken for a refusal",
    "log/stream.ts",
    "status >= 400 && status < 500",
    "status >= 400",
    STREAM,
  ],
  [
    "a connection that died in silence is kept for ever",
    "log/stream.ts",
    "setTimeout(() => connection.abort(), LAST_WORD_MS)",
    "setTimeout(() => {}, LAST_WORD_MS)",
    STREAM,
  ],
  [
    "the stream does not reconnect when the browser is online again",
    "log/stream.ts",
    'window.addEventListener("online", this.again);',
    "",
    STREAM,
  ],
  [
    "what was sent is shown beside what arrived",
    "log/store.ts",
    "if (ours !== undefined) this.sending",
    "if (false) this.sending",
    STORE,
  ],
  [
    "what is being sent is taken for an older message that says the same",
    "log/store.ts",
    "message.seq > each.afterSeq",
    "true",
    STORE,
  ],
  [
    "after a machine slept, nothing is shown for three times as long",
    "kit/frame.ts",
    "Math.min(REST * beyond, REST_MS_MAX)",
    "REST * beyond",
    FRAME,
  ],
  ["drafts of all chats are one", "parts/composer/drafts.ts", "PREFIX + chat", "PREFIX", COMPOSER],
  [
    "the draft of a tab without words replaces another's",
    "parts/composer/use-draft.ts",
    "if (!isOurs) return;",
    "",
    COMPOSER,
  ],
  [
    "Stop sends no interrupt",
    "parts/composer/use-stop.ts",
    'if (standing !== "busy") return;',
    "return;",
    COMPOSER,
  ],
  [
    "a failed removal from the queue is not shown",
    "parts/composer/composer.tsx",
    ".catch(() => setFailure(",
    ".catch(() => void String(",
    COMPOSER,
  ],
];

function changed(file, from, to, state) {
  return {
    name: "mutant",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith(`/src/${file}`)) return null;
      state.found ||= code.includes(from);
      return code.replaceAll(from, to);
    },
  };
}

/** How many tests failed, and how many ran. */
async function run(tests, plugins) {
  const options = { run: true, watch: false, reporters: [{}] };
  const vitest = await startVitest("test", tests, options, { plugins });
  const modules = vitest.state.getTestModules();
  const cases = modules.flatMap((module) => [...module.children.allTests()]);
  const failed = cases.filter((one) => one.result().state === "failed").length;
  await vitest.close();
  return { failed, ran: cases.length };
}

const isCanary = process.argv.includes("--canary");
const wanted = process.argv
  .slice(2)
  .filter((word) => word !== "--canary")
  .join(" ");
const chosen = MUTANTS.filter(([name]) => name.includes(wanted));
let wrong = chosen.length === 0 ? 1 : 0;
if (!isCanary) {
  const sound = await run([...new Set(chosen.flatMap(([, , , , tests]) => tests))], []);
  wrong = sound.failed > 0 || sound.ran === 0 ? 1 : 0;
  process.stdout.write(`without a mutant: ${sound.failed} of ${sound.ran} tests fail\n`);
}
for (const [name, file, from, to, tests] of chosen) {
  const state = { found: false };
  const { failed, ran } = await run(tests, [changed(file, from, to, state)]);
  const caught = state.found && ran > 0 && failed > 0;
  const verdict = caught ? `caught by ${failed}` : state.found ? "SURVIVED" : "NOT THERE ANY MORE";
  process.stdout.write(`${verdict.padEnd(18)} ${name}\n`);
  if (!caught) wrong++;
}
process.exit(wrong === 0 ? 0 : 1);
