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

const VIEW = ["client/src/reducer.test.ts", "client/src/reducer.property.test.ts"];
const STORE = ["src/engine/chat-store.test.ts"];
const STREAM = ["client/src/stream.test.ts"];
const ASK = ["client/src/ask.test.ts"];
const OUTBOX = ["src/engine/outbox.test.ts"];
const COMMANDS = ["src/engine/commands.test.ts"];
const FRAME = ["src/lib/frame.test.ts"];
const PANES = ["src/features/chat/panes.test.tsx"];
const QUESTION = ["src/features/tools/question.test.tsx"];
const COMPOSER = ["src/features/composer/composer.test.tsx"];
const ANSWERS = ["src/markdown/answers.test.tsx"];
const DIAGRAMS = ["src/markdown/diagram.test.tsx"];
const MATHS = ["src/markdown/math.test.tsx"];

/** Name (what becomes possible), module, text, what stands there instead, tests that may notice. */
const MUTANTS = [
  [
    "a live part that comes twice is shown twice",
    "client/src/reducer.ts",
    "data.attempt !== preview.attempt || data.index !== preview.index + 1",
    "data.attempt !== preview.attempt",
    VIEW,
  ],
  [
    "a part of an attempt that is over is shown",
    "client/src/reducer.ts",
    "preview === null || preview.attempt < data.attempt",
    "preview === null || preview.attempt !== data.attempt",
    VIEW,
  ],
  [
    "a message that comes twice is shown twice",
    "client/src/reducer.ts",
    "last !== undefined && data.seq <= last.seq",
    "false",
    VIEW,
  ],
  [
    "what was previewed stays beside the message that it became",
    "client/src/reducer.ts",
    "messages: [...view.messages, data], preview: null",
    "messages: [...view.messages, data]",
    VIEW,
  ],
  [
    "an edit leaves what came after it",
    "client/src/reducer.ts",
    "view.messages.filter((message) => message.seq < data.from_seq)",
    "view.messages",
    VIEW,
  ],
  [
    "a state is swallowed",
    "client/src/reducer.ts",
    "(view, state) => ({ ...view, state })",
    "(view) => view",
    VIEW,
  ],
  [
    "the cursor is forgotten",
    "client/src/reducer.ts",
    "{ ...next, cursor: event.cursor }",
    "next",
    VIEW,
  ],
  [
    "a commit counts before its last event",
    "client/src/reducer.ts",
    "event.final && event.version !== null",
    "event.version !== null",
    VIEW,
  ],
  [
    "an edit before what is loaded forgets that there are older messages",
    "client/src/reducer.ts",
    "older === null && view.older !== null",
    "false && view.older !== null",
    VIEW,
  ],
  [
    "an event that cannot be applied comes again for ever",
    "client/src/stream.ts",
    "followed.beginAnew();",
    "",
    STREAM,
  ],
  [
    "a malformed event in a snapshot brings another snapshot",
    "client/src/stream.ts",
    "if (isAnew) return;",
    "",
    STREAM,
  ],
  [
    "a stream is resumed without its cursor",
    "client/src/stream.ts",
    "if (cursor !== null) headers[LAST_EVENT_ID] = cursor;",
    "",
    STREAM,
  ],
  [
    "a server that is away for a moment is taken for a refusal",
    "client/src/stream.ts",
    "status >= 400 && status < 500",
    "status >= 400",
    STREAM,
  ],
  [
    "a connection that died in silence is kept for ever",
    "client/src/stream.ts",
    "setTimeout(() => connection.abort(), LAST_WORD_MS)",
    "setTimeout(() => {}, LAST_WORD_MS)",
    STREAM,
  ],
  [
    "the stream does not reconnect when the browser is online again",
    "client/src/stream.ts",
    '[window, "online"],',
    "",
    STREAM,
  ],
  [
    "the answer to another message is taken for mine",
    "client/src/ask.ts",
    "message.turn_seq === turnSeq && message.role",
    "message.role",
    ASK,
  ],
  [
    "a replica that is behind ends the wait for an answer",
    "client/src/ask.ts",
    "view.version < receipt.version",
    "false",
    ASK,
  ],
  [
    "the middle of a commit ends the wait for an answer",
    "client/src/ask.ts",
    "if (!final || ",
    "if (",
    ASK,
  ],
  [
    "a wrong password ends the session",
    "client/src/client.ts",
    '?.code === "unauthenticated"',
    "?.code !== undefined",
    ["client/src/client.test.ts"],
  ],
  [
    "a message overtakes the one before it",
    "src/engine/outbox.ts",
    "before.then(() => this.deliver(clientKey)),",
    "this.deliver(clientKey),",
    OUTBOX,
  ],
  [
    "what was sent is lost with its page",
    "src/engine/outbox.ts",
    "void this.storage?.put(message).catch(() => {}); // forbidden",
    "// forbidden",
    OUTBOX,
  ],
  [
    "what arrived is sent again by the next page",
    "src/engine/outbox.ts",
    "this.unkeep(clientKey);\n    this.wakeAll();",
    "this.wakeAll();",
    OUTBOX,
  ],
  [
    "an unsent message is left to the next user of the browser",
    "src/engine/outbox.ts",
    "void this.storage?.clear().catch(() => {});",
    "",
    OUTBOX,
  ],
  [
    "another user sends what the last one could not",
    "src/engine/outbox.ts",
    "message.userId !== userId",
    "false",
    OUTBOX,
  ],
  [
    "a sent message waits for the next frame",
    "src/engine/chat-store.ts",
    "this.claim();\n    this.publish();",
    "this.claim();\n    this.changed();",
    STORE,
  ],
  [
    "Stop stops a later turn than the one that is shown",
    "src/engine/commands.ts",
    "log.snapshot().view.state?.turn_seq ?? null",
    "null",
    COMMANDS,
  ],
  [
    "what was sent is shown beside what arrived",
    "src/engine/chat-store.ts",
    "if (left.length < this.sending.length) this.sending = left;",
    "",
    STORE,
  ],
  [
    "what is being sent is taken for a message of another client",
    "src/engine/chat-store.ts",
    "!arrived.has(each.clientKey)",
    "arrived.size === 0",
    STORE,
  ],
  [
    "after a machine slept, nothing is shown for three times as long",
    "src/lib/frame.ts",
    "Math.min(REST * beyond, REST_MS_MAX)",
    "REST * beyond",
    FRAME,
  ],
  [
    "drafts of all chats are one",
    "src/features/composer/drafts.ts",
    "PREFIX + chat",
    "PREFIX",
    COMPOSER,
  ],
  [
    "the draft of a tab without words replaces another's",
    "src/features/composer/use-draft.ts",
    "if (!isOurs) return;",
    "",
    COMPOSER,
  ],
  [
    "Stop sends no interrupt",
    "src/features/composer/use-stop.ts",
    'if (mode !== "busy") return;',
    "return;",
    COMPOSER,
  ],
  [
    "a failed removal from the queue is not shown",
    "src/features/composer/composer.tsx",
    ".catch(() => setFailure(",
    ".catch(() => void String(",
    COMPOSER,
  ],
  [
    "a long turn is taken apart with every commit",
    "src/features/transcript/items.ts",
    "if (!isLast || isFinished(row, row.message))",
    "if (!isLast)",
    ["src/features/transcript/long-turn.test.ts"],
  ],
  [
    "a delta makes a new list of live parts",
    "src/engine/live-parts.ts",
    "return isSame ? before : shapes",
    "return shapes",
    ["src/engine/live-parts.test.ts"],
  ],
  [
    "a double click makes two",
    "src/api/use-api-mutation.ts",
    "if (isRunning.current && !change.isParallel) return;",
    "",
    ["src/api/use-api-mutation.test.tsx"],
  ],
  [
    "a repeat after no answer has another key",
    "src/api/use-api-mutation.ts",
    "if (error instanceof ApiError && !error.isRetryable) key.current = null;",
    "key.current = null;",
    ["src/api/use-api-mutation.test.tsx"],
  ],
  [
    "two panes: Ctrl-F opens the find bar of both",
    "src/features/find/use-find-key.ts",
    "if (!isActivePane(refs)) return;",
    "",
    PANES,
  ],
  [
    "two panes of one chat share a session",
    "src/features/chat/session.ts",
    "log.chatId === chatId && !isOpen",
    "log.chatId === chatId",
    PANES,
  ],
  [
    "two panes: a session with unsent messages is dropped",
    "src/features/chat/session.ts",
    "&& !each.log.hasUnsent",
    "",
    PANES,
  ],
  [
    "a footnote inside a quote is dropped",
    "src/markdown/plugins/footnotes.ts",
    "if ((node.position?.start.offset ?? 0) < prefixLength) return []",
    "return []",
    ["src/markdown/markdown.test.tsx"],
  ],
  [
    "a formula that KaTeX refuses is dropped",
    "src/markdown/plugins/formula.tsx",
    'return isBlock ? <pre className="verbatim">{source}</pre> : source;',
    "return null;",
    MATHS,
  ],
  [
    "a formula hides words that were written",
    "src/markdown/plugins/tex.ts",
    "isMoney || HIDES.test(found.tex)",
    "isMoney",
    MATHS,
  ],
  [
    "words between two amounts are typeset",
    "src/markdown/plugins/tex.ts",
    "isMoney || HIDES.test(found.tex)",
    "HIDES.test(found.tex)",
    MATHS,
  ],
  [
    "a command that may not run loses its words",
    "src/markdown/plugins/typeset.ts",
    "throw new Error(command);",
    "return command === null;",
    MATHS,
  ],
  [
    "code between two dollars has marks that its author did not write",
    "src/markdown/plugins/math.tsx",
    'if (node.value !== undefined && node.type !== "text") node.value = restored(node.value);',
    "",
    MATHS,
  ],
  [
    "cells beyond the head of a table are dropped",
    "src/markdown/plugins/gfm.tsx",
    "[remarkGfm, remarkWholeRows]",
    "[remarkGfm]",
    ANSWERS,
  ],
  [
    "what follows the language of code is dropped",
    "src/markdown/code-block.tsx",
    'title === "" ? name',
    "title !== null ? name",
    ANSWERS,
  ],
  [
    "a diagram that cannot be drawn is dropped",
    "src/markdown/diagram.tsx",
    "if (picture === null) return source;",
    "if (picture === null) return null;",
    DIAGRAMS,
  ],
  [
    "the source of a diagram cannot be read",
    "src/markdown/diagram.tsx",
    "</summary>\n        {source}",
    "</summary>",
    DIAGRAMS,
  ],
  [
    "a diagram is drawn with every word of it that comes",
    "src/markdown/markdown.tsx",
    'if (language === "mermaid" && !isWriting)',
    'if (language === "mermaid")',
    DIAGRAMS,
  ],
  [
    "a button that approves becomes one that denies",
    "src/features/tools/approval.tsx",
    "<div key={stage} ",
    "<div ",
    ["src/features/tools/approval.test.tsx"],
  ],
  [
    "a pending message is not in the queue",
    "src/features/composer/composer.tsx",
    "isBusy(status) ? sending",
    "isBusy(undefined) ? sending",
    COMPOSER,
  ],
  [
    "own words that were given up for an option are sent",
    "src/features/tools/question.tsx",
    'text: other ? text.trim() : ""',
    "text: text.trim()",
    QUESTION,
  ],
  [
    "answers are sent before the last question is answered",
    "src/features/tools/question.tsx",
    "if (!isLast) {",
    "if (false) {",
    QUESTION,
  ],
  [
    "an empty answer is sent",
    "src/features/tools/question.tsx",
    "if (!isAnswered(choice)) return;",
    "",
    QUESTION,
  ],
];

function changed(file, from, to, state) {
  return {
    name: "mutant",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith(`/ui/${file}`)) return null;
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
