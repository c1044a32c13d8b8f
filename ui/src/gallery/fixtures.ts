/** What the gallery shows: plain values in the shapes of the log. The clock stands at `NOW`. */
import type { ChatActions } from "@/log/actions";
import type { Sending, TurnEnd } from "@/log/rows";
import type {
  ActionRequired,
  ChatError,
  Message,
  Part,
  QueuedMessage,
  Takeover,
  ToolResultPart,
} from "@/log/types";
import type { Call } from "@/parts/tools/call";

export const NOW = Date.parse("2026-03-04T10:15:30Z");

export function ago(seconds: number): string {
  return new Date(NOW - seconds * 1000).toISOString();
}

export function ahead(seconds: number): string {
  return ago(-seconds);
}

export function text(words: string): Part {
  return { kind: "text", text: words };
}

export function message(
  seq: number,
  role: Message["role"],
  parts: Part[],
  more: Partial<Message> = {},
): Message {
  return {
    seq,
    role,
    parts,
    ending: "complete",
    model: role === "assistant" ? "sim-large" : null,
    effort: null,
    author_id: null,
    usage: null,
    cost_micros: null,
    created_at: ago(600 - seq * 5),
    revision: seq,
    ...more,
  };
}

export const TAKEOVER: Takeover = {
  attempt: 3,
  lost_workers: 2,
  after_s: 17,
  kept: false,
  calls: [
    { call_id: "1", tool: "execute", fate: "joined" },
    { call_id: "2", tool: "read_file", fate: "repeated" },
    { call_id: "3", tool: "send_message_to_everybody_in_the_organisation", fate: "unknown" },
    { call_id: "4", tool: "ask", fate: "not_started" },
  ],
};

export function result(
  callId: string,
  tool: string,
  output: unknown,
  more: Partial<ToolResultPart> = {},
): ToolResultPart {
  return {
    kind: "tool_result",
    call_id: callId,
    tool,
    output,
    failed: false,
    synthetic: null,
    runs_at: "here",
    ...more,
  };
}

export function call(tool: string, given: Record<string, unknown>, more: Partial<Call> = {}): Call {
  return {
    id: `${tool}.${more.state ?? "done"}`,
    tool,
    arguments: given,
    exact: {},
    source: "",
    needs: "nothing",
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
): Call {
  return call(tool, given, { result: result("c", tool, output), ...more });
}

export function failed(
  tool: string,
  given: Record<string, unknown>,
  output: unknown,
  more: Partial<Call> = {},
): Call {
  return call(tool, given, {
    state: "failed",
    result: result("c", tool, output, { failed: true }),
    ...more,
  });
}

export function action(
  kind: ActionRequired["kind"],
  callId: string,
  deadline: string | null = null,
): ActionRequired {
  return {
    kind,
    deadline,
    calls: [{ call_id: callId, tool: "execute", seq: 2 }],
  } as ActionRequired;
}

export const ENDS: TurnEnd = {
  steps: 4,
  calls: 7,
  model: "sim-large",
  usage: { input: 48_200, cache_read: 41_000, output: 1_930 },
  costMicros: 84_300,
  startedAt: ago(131),
  endedAt: ago(20),
};

export const BUSY: ChatError = {
  kind: "overloaded",
  sentence: "The provider is busy.",
  provider: "anthropic",
  status_code: 529,
  retryable: true,
};

export const WRONG_KEY: ChatError = {
  kind: "auth",
  sentence: "The provider refused the key of this server.",
  provider: "openai",
  status_code: 401,
  retryable: false,
};

export function sending(state: Sending["state"]): Sending {
  return {
    clientKey: state,
    text: "Also update the change log, please.",
    model: null,
    state,
    why: state === "failed" ? "The server could not be reached." : null,
    afterSeq: 1,
    at: NOW,
  };
}

export function queued(id: number, words: string, urgent = false): QueuedMessage {
  return {
    queued_id: id,
    urgent,
    parts: [text(words)],
    bytes: words.length,
    cut: false,
    model: null,
    effort: null,
    author_id: null,
  };
}

const settled = () => Promise.resolve();

/** They do nothing, at once. */
export const ACTIONS: ChatActions = {
  send: () => {},
  resend: () => {},
  discard: () => null,
  interrupt: settled,
  retry: settled,
  edit: settled,
  take: () => Promise.resolve({ parts: [text("taken out")], model: null, effort: null }),
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
