/** What the gallery shows: plain values in the shapes of the log. The clock stands at `NOW`. */

import type {
  ActionRequired,
  ChatError,
  ChatSummary,
  Message,
  MessagePart,
  QueuedMessage,
  Takeover,
  ToolResultPart,
} from "@holdfast/client";
import type { ChatActions } from "@/engine/actions";
import type { Sending, TurnEnd } from "@/engine/rows";
import type { Call } from "@/features/tools/call";

export const NOW = Date.parse("2026-03-04T10:15:30Z");

export function ago(seconds: number): string {
  return new Date(NOW - seconds * 1000).toISOString();
}

export function ahead(seconds: number): string {
  return ago(-seconds);
}

export function text(words: string): MessagePart {
  return { type: "text", citations: [], text: words };
}

export function message(
  seq: number,
  role: Message["role"],
  parts: MessagePart[],
  more: Partial<Message> = {},
): Message {
  return {
    seq,
    role,
    parts,
    finish_reason: "stop",
    model: role === "assistant" ? "sim-large" : null,
    effort: null,
    author_id: null,
    usage: null,
    cost_micro_usd: null,
    created_at: ago(600 - seq * 5),
    version: seq,
    turn_seq: null,
    queued_id: null,
    attempt: null,
    client_key: null,
    ...more,
  };
}

/** A chat as the list has it; its title is its id. */
export function chatSummary(
  id: string,
  touched: string,
  more: Partial<ChatSummary> = {},
): ChatSummary {
  return {
    id,
    owner_id: "o",
    title: id,
    title_source: null,
    turn_label: null,
    summary: null,
    status: "idle",
    archived: false,
    pinned: false,
    labels: [],
    metadata: {},
    version: 1,
    last_seq: 1,
    read_seq: 1,
    unread: false,
    queue_length: 0,
    updated_at: touched,
    created_at: touched,
    action_required: null,
    ...more,
  };
}

export const TAKEOVER: Takeover = {
  attempt: 3,
  lost_workers: 2,
  after_seconds: 17,
  kept: false,
  calls: [
    { call_id: "1", tool_name: "execute", fate: "joined" },
    { call_id: "2", tool_name: "read_file", fate: "repeated" },
    { call_id: "3", tool_name: "send_message_to_everybody_in_the_organisation", fate: "unknown" },
    { call_id: "4", tool_name: "ask", fate: "not_started" },
  ],
};

export function result(
  callId: string,
  tool: string,
  output: unknown,
  more: Partial<ToolResultPart> = {},
): ToolResultPart {
  return {
    type: "tool_result",
    call_id: callId,
    tool_name: tool,
    output,
    is_error: false,
    synthetic_reason: null,
    executed_by: "server",
    exit_code: null,
    signal: null,
    duration_ms: null,
    process_id: null,
    timed_out: false,
    truncated: false,
    summary_lines: 0,
    ...more,
  };
}

/** The fields of a command's result: its first line is the tool's summary. */
export function ended(exitCode: number, durationMs: number): Partial<ToolResultPart> {
  return { exit_code: exitCode, duration_ms: durationMs, summary_lines: 2 };
}

export function call(tool: string, given: Record<string, unknown>, more: Partial<Call> = {}): Call {
  return {
    id: `${tool}.${more.state ?? "done"}`,
    tool,
    arguments: given,
    exact: {},
    source: "",
    needs: null,
    state: "done",
    result: null,
    startedAt: ago(42),
    ...more,
  };
}

export function done(
  tool: string,
  given: Record<string, unknown>,
  output: unknown,
  more: Partial<Call> = {},
  fields: Partial<ToolResultPart> = {},
): Call {
  return call(tool, given, { result: result("c", tool, output, fields), ...more });
}

export function failed(
  tool: string,
  given: Record<string, unknown>,
  output: unknown,
  more: Partial<Call> = {},
): Call {
  return call(tool, given, {
    state: "failed",
    result: result("c", tool, output, { is_error: true }),
    ...more,
  });
}

export function action(
  type: ActionRequired["type"],
  callId: string,
  expiresAt: string | null = null,
): ActionRequired {
  return {
    type,
    expires_at: expiresAt,
    calls: [{ call_id: callId, tool_name: "execute", seq: 2, arguments: null, digest: null }],
  };
}

export const ENDS: TurnEnd = {
  steps: 4,
  calls: 7,
  model: "sim-large",
  usage: { input_tokens: 48_200, cache_read_tokens: 41_000, output_tokens: 1_930 },
  costMicros: 84_300,
  startedAt: ago(131),
  endedAt: ago(20),
};

export const BUSY: ChatError = {
  type: "overloaded",
  message: "The provider is busy.",
  provider: "anthropic",
  status_code: 529,
  retryable: true,
};

export const WRONG_KEY: ChatError = {
  type: "auth",
  message: "The provider refused the key of this server.",
  provider: "openai",
  status_code: 401,
  retryable: false,
};

export const STEP_LIMIT: ChatError = {
  type: "step_limit",
  message: "The turn is paused after 250 replies of the model in a row.",
  provider: null,
  status_code: null,
  retryable: true,
};

export function sending(state: Sending["state"]): Sending {
  return {
    clientKey: state,
    text: "Also update the change log, please.",
    model: null,
    state,
    why: state === "failed" ? "The server could not be reached." : null,
    at: NOW,
  };
}

export function queued(id: number, words: string, urgent = false): QueuedMessage {
  return {
    queued_id: id,
    send_now: urgent,
    parts: [text(words)],
    bytes: words.length,
    truncated: false,
    model: null,
    effort: null,
    author_id: null,
    client_key: null,
  };
}

const settled = () => Promise.resolve();

/** They do nothing, at once. */
export const ACTIONS: ChatActions = {
  send: () => {},
  resend: () => {},
  resumeQueue: async () => {},
  clearQueue: async () => {},
  discard: () => null,
  interrupt: settled,
  retry: settled,
  edit: settled,
  take: () => Promise.resolve(queued(1, "taken out")),
  remove: settled,
  place: settled,
  promote: settled,
  decide: settled,
  answer: settled,
  compact: settled,
  restore: settled,
  loadOlder: settled,
};

export const DIFF = `--- a/src/tide/clock.py
+++ b/src/tide/clock.py
@@ -12,9 +12,10 @@ class Clock:
     def now(self) -> datetime:
-        return datetime.now()
+        # Naive times compared with aware ones raise: everything here is UTC.
+        return datetime.now(tz=UTC)
 
     def tomorrow(self) -> datetime:
         return self.now() + timedelta(days=1)
 
     def sleep(self, seconds: float) -> None:
         time.sleep(seconds)
`;

export const PYTEST = `============================= test session starts ==============================
collected 42 items

tests/test_clock.py ..........F...............................           [100%]

=================================== FAILURES ===================================
_____________________________ test_tomorrow_is_aware ____________________________

    def test_tomorrow_is_aware():
>       assert Clock().tomorrow().tzinfo is UTC
E       AssertionError: assert None is UTC

tests/test_clock.py:31: AssertionError
=========================== short test summary info ============================
FAILED tests/test_clock.py::test_tomorrow_is_aware - AssertionError: assert None is UTC
`;

export const PROSE = `# What went wrong

The clock returned **naive** times, so comparing them with the aware ones from the database raised. There were *two* places:

1. \`Clock.now\`, which every test uses
2. the fixture in \`tests/conftest.py\`

   It had its own copy, so the fix in one place did not help.

- [x] both use UTC now
- [ ] the docs still show the old call

> A naive time is a promise without a clock.

| module | before | after |
| --- | ---: | ---: |
| clock | 3 failed | 0 failed |
| tides | 1 failed | 0 failed |

See [PEP 495](https://peps.python.org/pep-0495/) and ~~the old page~~. An image from elsewhere is not fetched: ![a tide table](https://images.example.com/tide.png)

\`\`\`python
from datetime import UTC, datetime


class Clock:
    """Tells the time, always in UTC."""

    def now(self) -> datetime:
        return datetime.now(tz=UTC)
\`\`\`

\`\`\`sh
uv run pytest -q tests/test_clock.py && git commit -am "Times are aware"
\`\`\`

---

That is all.`;

export const LONG_CODE = Array.from(
  { length: 64 },
  (_, at) => `    print("line ${at + 1} of a long file, which folds")`,
).join("\n");

export const HOSTILE = `<script>alert(1)</script>

<img src=x onerror=alert(1)> and <svg onload=alert(1)>

[press me](javascript:alert(1)) [or me](data:text/html,hi) [a bank](https://bank.example@evil.example/)

![beacon](https://tracker.example/pixel.gif?chat=1) \u202Ereversed\u202C zero\u200Bwidth`;

/** Markdown that plugins know: footnotes across blocks, maths, a container. */
export const EXTENSIONS = [
  "The moon[^moon] and the sun[^sun] move $h_1 * h_2$ of water.",
  "$$\nF = G \\frac{m_1 m_2}{r^2}\n$$",
  ":::note\nSpring tides come with a new or full moon.\n:::",
  "[^sun]: Less than half as much.",
  "[^moon]: Twice a day.",
].join("\n\n");
