import type { ActionRequired } from "@holdfast/client";
import { LiveContext } from "@/features/chat/live";
import type { Call } from "@/features/tools/call";
import { ToolCard } from "@/features/tools/tool-card";
import * as f from "@/testing/fixtures";
import { Group, State } from "./frame";

const TEST = { command: "uv run pytest -q tests/test_clock.py", cwd: "services/tide" };
const SYNTHETIC = {
  cancelled: ["interrupted", "Cancelled: the user interrupted before this call finished."],
  denied: ["denied", "Denied: the user did not allow this call. This is a decision, not a fault."],
  "timed out": ["expired", "Expired: no answer came in time."],
  "not run": ["cut_off", "Not run: the reply that asked for this call was cut off."],
  unknown: [
    "unknown_outcome",
    "Outcome unknown: the server restarted while this ran. It may or may not have taken effect.",
  ],
} as const;

const LIVE = {
  subscribe: () => () => {},
  preview: () => PREVIEW,
};
const PREVIEW = {
  attempt: 0,
  index: 3,
  parts: {
    7: {
      type: "tool_call" as const,
      call_id: "w",
      tool_name: "execute",
      arguments: '{"command": "git log --oneline -',
    },
  },
  outputs: {
    "advisor.running": "Mend it. A rewrite loses",
    "execute.running":
      "collected 42 items\n\ntests/test_clock.py ..........F......\ntests/test_tides.py ..........",
  },
};

interface ShownProps {
  name: string;
  call: Call;
  isOpen?: boolean;
  action?: ActionRequired | null;
  mayWrite?: boolean;
}

function Shown({ name, call, isOpen = false, action = null, mayWrite = true }: ShownProps) {
  return (
    <State name={name}>
      <ToolCard
        call={call}
        action={action}
        actions={mayWrite ? f.ACTIONS : null}
        index={7}
        isOpen={isOpen}
        onToggle={() => {}}
      />
    </State>
  );
}

export function ToolStates() {
  return (
    <Group title="Tools">
      <LiveContext.Provider value={LIVE}>
        <Shown
          name="Being written"
          call={f.call("execute", {}, { state: "writing", arguments: null })}
        />
        <Shown
          name="Running, with the end of its output"
          call={f.call("execute", TEST, { state: "running" })}
        />
        <Shown name="Running, open" call={f.call("execute", TEST, { state: "running" })} isOpen />
      </LiveContext.Provider>
      <Shown
        name="Done"
        call={f.done(
          "execute",
          TEST,
          "exit code 0 (1.4 s)\n\n42 passed in 1.2 s\n",
          {},
          f.ended(0, 1400),
        )}
      />
      <Shown
        name="Done, open"
        call={f.done(
          "execute",
          TEST,
          "exit code 0 (1.4 s)\n\n42 passed in 1.2 s\n",
          {},
          f.ended(0, 1400),
        )}
        isOpen
      />
      <Shown
        name="Failed"
        call={f.done(
          "execute",
          TEST,
          `exit code 1 (1.4 s)\n\n${f.PYTEST}`,
          { state: "failed" },
          f.ended(1, 3200),
        )}
      />
      <Shown
        name="Failed, open"
        call={f.done(
          "execute",
          TEST,
          `exit code 1 (1.4 s)\n\n${f.PYTEST}`,
          { state: "failed" },
          f.ended(1, 3200),
        )}
        isOpen
      />
      <Shown
        name="Left running"
        call={f.done(
          "execute",
          { command: "npm run dev" },
          "Started in the background as p3\n\nready on :5173",
          {},
          { process_id: "p3", summary_lines: 2 },
        )}
      />
      {(Object.keys(SYNTHETIC) as (keyof typeof SYNTHETIC)[]).map((state) => (
        <Shown key={state} name={`Outcome: ${state}`} call={synthetic(state)} />
      ))}
      <Files />
      <Decisions />
      <Advice />
    </Group>
  );
}

function synthetic(state: keyof typeof SYNTHETIC): Call {
  const [synthetic, output] = SYNTHETIC[state];
  return f.call(
    "execute",
    { command: "make deploy" },
    {
      state,
      result: f.result("c", "execute", output, { is_error: true, synthetic_reason: synthetic }),
    },
  );
}

function Files() {
  const source =
    "import time\nfrom datetime import datetime, timedelta\n\n\nclass Clock:\n    def now(self) -> datetime:\n        return datetime.now()\n";
  const rows = source.trimEnd().split("\n");
  const numbered = rows.map((row, at) => `${String(at + 1).padStart(6)}\t${row}`).join("\n");
  const edit = {
    path: "src/tide/clock.py",
    edits: [{ old_string: "datetime.now()", new_string: "datetime.now(tz=UTC)" }],
  };
  return (
    <>
      <Shown
        name="A file read"
        call={f.done("read_file", { path: "src/tide/clock.py", offset: 1 }, numbered)}
        isOpen
      />
      <Shown
        name="An edit"
        call={f.done(
          "edit_file",
          edit,
          "Edited src/tide/clock.py: 1 replacement (line 14).",
          {},
          { diff: f.DIFF },
        )}
        isOpen
      />
      <Shown
        name="An edit that did not fit"
        call={f.failed(
          "edit_file",
          edit,
          "old_string was not found in src/tide/clock.py. No edit was applied.",
        )}
      />
      <Shown
        name="A new file"
        call={f.done(
          "write_file",
          { path: "NOTES.md", content: "# Notes\n\nTimes are UTC.\n" },
          "Created NOTES.md (3 lines, 24 bytes).",
        )}
        isOpen
      />
      <Shown
        name="A search"
        call={f.done(
          "search_files",
          { pattern: "datetime\\.now\\(\\)", glob: "*.py" },
          "src/tide/clock.py:14: return datetime.now()\ntests/conftest.py:8: now = datetime.now()\n",
        )}
        isOpen
      />
      <Shown
        name="A workspace"
        call={f.done(
          "create_workspace",
          { template: "python" },
          "The workspace is ready. Its folder is /work.",
        )}
        isOpen
      />
      <Shown
        name="A web search"
        call={f.done("web_search", { query: "high tide in Lisbon today" }, "5 results")}
      />
      <Shown
        name="Any other tool"
        call={f.done(
          "weather",
          { place: "Lisbon", days: 3 },
          { sky: "clear", degrees: [21, 23, 22] },
        )}
        isOpen
      />
      <Shown
        name="A very long command"
        call={f.done(
          "execute",
          { command: `curl ${"-H 'X-Header: a long value' ".repeat(12)}https://example.com` },
          "exit code 0 (0.2 s), no output",
          {},
          f.ended(0, 200),
        )}
        isOpen
      />
    </>
  );
}

function Advice() {
  const asked = { question: "Rewrite the parser, or mend it?", intent: "I would mend it." };
  const none = { model: "sim-large", remaining_uses: 0, usage: null };
  return (
    <>
      <Shown name="Asks the advisor" call={f.call("advisor", asked, { state: "running" })} isOpen />
      <Shown
        name="Advice"
        call={f.done("advisor", asked, {
          ...none,
          type: "advice",
          advice: "**Mend it.** A rewrite loses the cases that the tests do not name.",
          remaining_uses: 2,
        })}
        isOpen
      />
      <Shown
        name="The advisor's limit is reached"
        call={f.failed("advisor", asked, {
          ...none,
          type: "limit_reached",
          message: "The advisor was not asked: it has been used 3 times.",
        })}
        isOpen
      />
      <Shown
        name="The advisor failed"
        call={f.failed("advisor", asked, {
          ...none,
          type: "error",
          message: "The advisor could not answer: The provider is overloaded.",
        })}
        isOpen
      />
    </>
  );
}

function Decisions() {
  const push = f.call(
    "execute",
    { command: "git push origin main --force-with-lease", cwd: "services/tide" },
    { state: "awaiting", needs: "approval" },
  );
  const trick = f.call(
    "execute",
    { command: "cat notes.txt \u202Eslr- fr mr\u202C #\u200Bsafe" },
    { state: "awaiting", needs: "approval" },
  );
  const client = f.call(
    "open_in_editor",
    { path: "src/tide/clock.py", line: 14 },
    { state: "awaiting", needs: "result" },
  );
  const ask = f.call(
    "ask_user",
    {
      questions: [
        {
          question: "Shall I also update the fixture in tests/conftest.py?",
          options: [
            { label: "Update it", detail: "Two tests of the tide tables change, too." },
            { label: "Leave it" },
          ],
        },
        { question: "What shall the branch be called?" },
      ],
    },
    { state: "awaiting", needs: "answer" },
  );
  return (
    <>
      <Shown
        name="Waits for an approval"
        call={push}
        action={f.action("approval", push.id, f.ahead(272))}
      />
      <Shown
        name="An approval with characters that cannot be seen"
        call={trick}
        action={f.action("approval", trick.id)}
      />
      <Shown
        name="An approval, view only"
        call={push}
        action={f.action("approval", push.id)}
        mayWrite={false}
      />
      <Shown
        name="Waits for the client's tool"
        call={client}
        action={f.action("result", client.id)}
      />
      <Shown name="Waits for an answer" call={ask} action={f.action("answer", ask.id)} />
    </>
  );
}
