import { type ReactNode, useState } from "react";
import { ChatActionsContext, ChatMetaContext } from "@/features/chat/context";
import { Folds, FoldsContext } from "@/features/chat/folds";
import { LiveContext } from "@/features/chat/live";
import { AssistantText, Reasoning, Sources } from "@/features/transcript/assistant-text";
import {
  Boundary,
  Break,
  LostWorker,
  Older,
  PendingMessage,
  Run,
} from "@/features/transcript/dividers";
import { marksOf } from "@/features/transcript/sources";
import { TurnFooter } from "@/features/transcript/turn-footer";
import { UserMessage } from "@/features/transcript/user-message";
import * as f from "@/testing/fixtures";
import { Group, State } from "./frame";

const THOUGHT =
  "The traceback names `Clock.now`. Two callers compare its result with times from the database, which are aware.\n\nSo the fix belongs into the clock, not into its callers.";
const LONG = Array.from({ length: 30 }, (_, at) => `${at + 1}. a line of a very long message`).join(
  "\n",
);

const SOURCES = [
  {
    url: "https://docs.python.org/3/library/datetime.html",
    title: "datetime — Basic date and time types",
  },
  { url: "https://peps.python.org/pep-0495/", title: "" },
  { url: "javascript:alert(1)", title: "not a place" },
];
const CITED = {
  text: "An aware time has an offset. A fold tells two equal wall times apart.\n\n```py\nnow(tz=UTC)\n```",
  citations: [
    { start: 0, end: 27, source_url: SOURCES[0]?.url ?? "" },
    { start: 29, end: 68, source_url: SOURCES[0]?.url ?? "" },
    { start: 29, end: 68, source_url: SOURCES[1]?.url ?? "" },
    { start: 71, end: 92, source_url: SOURCES[2]?.url ?? "" },
  ],
};

const REGENERABLE = { seq: 1, text: "Why?", model: null };

function Stage({
  children,
  open = [],
  mayWrite = true,
}: {
  children: ReactNode;
  open?: string[];
  mayWrite?: boolean;
}) {
  const [folds] = useState(() => new Folds(open));
  const commands = { chatId: "gallery", actions: mayWrite ? f.ACTIONS : null };
  return (
    <ChatActionsContext value={commands}>
      <ChatMetaContext value={META}>
        <FoldsContext value={folds}>{children}</FoldsContext>
      </ChatMetaContext>
    </ChatActionsContext>
  );
}

const META = {
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
};

const LIVE = {
  subscribe: () => () => {},
  preview: () => PREVIEW,
};
const PREVIEW = {
  attempt: 1,
  index: 9,
  parts: {
    0: { type: "reasoning" as const, text: "First look at the clock.\nThen at its **callers**" },
    1: {
      type: "text" as const,
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
                type: "file_reference",
                path: "src/tide/clock.py",
                first_line: 12,
                last_line: 18,
                text: "",
              },
              { type: "file", file_id: "1", media_type: "image/png", name: "screen.png" },
              { type: "skill", name: "release", text: "" },
            ])}
          />
        </State>
        <State name="A long message, folded">
          <UserMessage message={f.message(6, "user", [f.text(LONG)])} />
        </State>
        <State name="On its way">
          <PendingMessage sending={f.sending("sending")} />
        </State>
        <State name="Not sent">
          <PendingMessage sending={f.sending("failed")} />
        </State>
        <LiveContext.Provider value={LIVE}>
          <State name="Thinking">
            <Reasoning text={null} index={0} isOpen={false} onToggle={() => {}} />
          </State>
          <State name="Writing">
            <AssistantText text={null} index={1} />
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
        <State name="A text that cites its sources">
          <AssistantText text={CITED.text} index={0} marks={marksOf(CITED, SOURCES)} />
        </State>
        <State name="Sources">
          <Sources sources={SOURCES} />
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
        <TurnFooter foot={{ ...going, phase: "waiting" }} />
      </State>
      <State name="Thinking">
        <TurnFooter foot={{ ...going, phase: "thinking", since: f.ago(1) }} />
      </State>
      <State name="Running a tool">
        <TurnFooter foot={{ ...going, phase: "running", what: running }} />
      </State>
      <State name="Stopping">
        <TurnFooter foot={{ ...going, phase: "stopping" }} />
      </State>
      <State name="Waiting for an approval or an answer">
        <TurnFooter foot={{ ...going, phase: "awaiting", since: f.ago(95) }} />
      </State>
      <State name="Over">
        <TurnFooter
          foot={{ is: "over", ends: f.ENDS, answer: "Done.", regenerable: REGENERABLE }}
        />
      </State>
      <State name="Over, nothing known about its price">
        <TurnFooter
          foot={{
            is: "over",
            ends: { ...f.ENDS, usage: {}, costMicros: null },
            answer: "Done.",
            regenerable: null,
          }}
        />
      </State>
      <State name="Trying again">
        <TurnFooter
          foot={{
            is: "retrying",
            retry: {
              attempt: 2,
              delay_ms: 12_000,
              next_attempt_at: f.ahead(9),
              model: null,
              error: f.BUSY,
            },
          }}
        />
      </State>
      <State name="Failed">
        <TurnFooter foot={{ is: "failed", error: f.WRONG_KEY }} />
      </State>
      <State name="Paused">
        <TurnFooter foot={{ is: "failed", error: f.STEP_LIMIT }} />
      </State>
    </Stage>
  );
}

const RUN = [
  f.done("read_file", { path: "src/tide/clock.py" }, ""),
  f.done("search_files", { pattern: "naive" }, ""),
  f.done("execute", { command: "uv run pytest -q" }, ""),
  f.failed("execute", { command: "uv run pyright" }, ""),
  f.done("edit_file", { path: "src/tide/clock.py", edits: [] }, ""),
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
            message={f.message(9, "summary", [
              f.text("The user wants the clock fixed. **Done so far:** the cause is known."),
            ])}
            itemKey="summary"
          />
        </State>
      </Stage>
      <Stage mayWrite={false}>
        <State name="Failed, view only">
          <TurnFooter foot={{ is: "failed", error: f.BUSY }} />
        </State>
      </Stage>
    </>
  );
}
