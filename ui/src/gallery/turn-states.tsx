import { type ReactNode, useState } from "react";
import { Chat, type ChatContext } from "@/parts/context";
import { LiveContext } from "@/parts/live";
import { Boundary, Break, LostWorker, Older, OnItsWay, Run } from "@/parts/transcript/dividers";
import { TurnFoot } from "@/parts/transcript/foot";
import { Reasoning, SaidText, Sources } from "@/parts/transcript/said";
import { UserMessage } from "@/parts/transcript/user-message";
import * as f from "./fixtures";
import { Group, State } from "./gallery";

const THOUGHT =
  "The traceback names `Clock.now`. Two callers compare its result with times from the database, which are aware.\n\nSo the fix belongs into the clock, not into its callers.";
const LONG = Array.from({ length: 30 }, (_, at) => `${at + 1}. a line of a very long message`).join(
  "\n",
);

const ASKED = { seq: 1, text: "Why?", model: null };

export function Stage({
  children,
  open = [],
  mayWrite = true,
}: {
  children: ReactNode;
  open?: string[];
  mayWrite?: boolean;
}) {
  const [shown, setShown] = useState(new Set(open));
  const context: ChatContext = {
    chatId: "gallery",
    actions: mayWrite ? f.ACTIONS : null,
    models: ["sim-large", "sim-small"],
    versions: new Map([
      [
        5,
        [
          { version: 12, first_seq: 5, messages: 8 },
          { version: 7, first_seq: 5, messages: 2 },
        ],
      ],
    ]),
    authors: new Map(),
    isOpen: (key) => shown.has(key),
    toggle: (key) =>
      setShown(
        (was) => new Set(was.has(key) ? [...was].filter((each) => each !== key) : [...was, key]),
      ),
  };
  return <Chat.Provider value={context}>{children}</Chat.Provider>;
}

const LIVE = {
  subscribe: () => () => {},
  preview: () => PREVIEW,
};
const PREVIEW = {
  attempt: 1,
  seq: 9,
  parts: {
    0: { kind: "reasoning" as const, text: "First look at the clock.\nThen at its **callers**" },
    1: {
      kind: "text" as const,
      text: "The clock returns **naive** times, so\n\n- comparing them raises\n- and `sleep",
    },
  },
  outputs: {},
};

export function TurnStates() {
  return (
    <Group title="Turns">
      <Stage>
        <State name="A message">
          <UserMessage
            message={f.message(1, "user", [
              f.text(
                "The tests in `tests/test_clock.py` fail since this morning. Find out why and fix it.",
              ),
            ])}
          />
        </State>
        <State name="A message with older versions and attachments">
          <UserMessage
            message={f.message(5, "user", [
              f.text("Look at this instead."),
              {
                kind: "file_reference",
                path: "src/tide/clock.py",
                first_line: 12,
                last_line: 18,
                text: "",
              },
              { kind: "file", file_id: "1", media_type: "image/png", name: "screen.png" },
              { kind: "skill", name: "release", text: "" },
            ])}
          />
        </State>
        <State name="A long message, folded">
          <UserMessage message={f.message(6, "user", [f.text(LONG)])} />
        </State>
        <State name="On its way">
          <OnItsWay sending={f.sending("sending")} />
        </State>
        <State name="Not sent">
          <OnItsWay sending={f.sending("failed")} />
        </State>
        <LiveContext.Provider value={LIVE}>
          <State name="Thinking">
            <Reasoning text={null} index={0} isOpen={false} onToggle={() => {}} />
          </State>
          <State name="Writing">
            <SaidText text={null} index={1} />
          </State>
        </LiveContext.Provider>
        <State name="A worker was lost, folded">
          <LostWorker takeover={f.TAKEOVER} isOpen={false} onToggle={() => {}} />
        </State>
        <State name="A worker was lost, open">
          <LostWorker takeover={f.TAKEOVER} isOpen onToggle={() => {}} />
        </State>
        <State name="Thought, folded">
          <Reasoning text={THOUGHT} index={0} isOpen={false} onToggle={() => {}} />
        </State>
        <State name="Thought, open">
          <Reasoning text={THOUGHT} index={0} isOpen onToggle={() => {}} />
        </State>
        <State name="Sources">
          <Sources
            sources={[
              {
                url: "https://docs.python.org/3/library/datetime.html",
                title: "datetime — Basic date and time types",
              },
              { url: "https://peps.python.org/pep-0495/", title: "" },
              { url: "javascript:alert(1)", title: "not a place" },
            ]}
          />
        </State>
      </Stage>
      <Feet />
      <Dividers />
    </Group>
  );
}

function Feet() {
  const going = { is: "going", what: null, since: f.ago(14) } as const;
  const running = f.call("execute", { command: "uv run pytest -q" }, { state: "running" });
  return (
    <Stage>
      <State name="Waiting for a worker">
        <TurnFoot foot={{ ...going, phase: "waiting" }} />
      </State>
      <State name="Thinking">
        <TurnFoot foot={{ ...going, phase: "thinking", since: f.ago(1) }} />
      </State>
      <State name="Running a tool">
        <TurnFoot foot={{ ...going, phase: "running", what: running }} />
      </State>
      <State name="Stopping">
        <TurnFoot foot={{ ...going, phase: "stopping" }} />
      </State>
      <State name="Waiting for an approval or an answer">
        <TurnFoot foot={{ ...going, phase: "awaiting", since: f.ago(95) }} />
      </State>
      <State name="Over">
        <TurnFoot foot={{ is: "over", ends: f.ENDS, answer: "Done.", asked: ASKED }} />
      </State>
      <State name="Over, nothing known about its price">
        <TurnFoot
          foot={{
            is: "over",
            ends: { ...f.ENDS, usage: {}, costMicros: null },
            answer: "Done.",
            asked: null,
          }}
        />
      </State>
      <State name="Trying again">
        <TurnFoot
          foot={{
            is: "retrying",
            retry: { attempt: 2, delay_ms: 12_000, until: f.ahead(9), error: f.BUSY },
          }}
        />
      </State>
      <State name="Failed">
        <TurnFoot foot={{ is: "failed", error: f.WRONG_KEY }} />
      </State>
    </Stage>
  );
}

const RUN = [
  f.done("read_file", { path: "src/tide/clock.py" }, ""),
  f.done("search_files", { pattern: "naive" }, ""),
  f.done("execute", { command: "uv run pytest -q" }, ""),
  f.failed("execute", { command: "uv run pyright" }, ""),
  f.done("edit_files", { files: [] }, ""),
];

function Dividers() {
  const run = { kind: "run", key: "run", turn: 1, calls: RUN } as const;
  return (
    <>
      <Stage>
        <State name="Steps, folded when the turn is over">
          <Run item={{ ...run, hidden: 5, isOpen: false }} />
        </State>
        <State name="Steps, folded while the turn goes on">
          <Run item={{ ...run, hidden: 2, isOpen: false }} />
        </State>
        <State name="Stopped">
          <Break why="interrupted" isLast />
        </State>
        <State name="Cut off">
          <Break why="cut" isLast />
        </State>
        <State name="Earlier messages">
          <Older isLoading={false} onLoad={() => {}} />
        </State>
        <State name="Earlier messages, on their way">
          <Older isLoading onLoad={() => {}} />
        </State>
      </Stage>
      <Stage open={["summary"]}>
        <State name="A summary, open">
          <Boundary
            message={f.message(9, "boundary", [
              f.text("The user wants the clock fixed. **Done so far:** the cause is known."),
            ])}
            itemKey="summary"
          />
        </State>
      </Stage>
      <Stage mayWrite={false}>
        <State name="Failed, view only">
          <TurnFoot foot={{ is: "failed", error: f.BUSY }} />
        </State>
      </Stage>
    </>
  );
}
