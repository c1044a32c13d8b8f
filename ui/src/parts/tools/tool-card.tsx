/**
 * A tool call: one line that says what happened, and the rest behind it. What somebody must see is
 * shown without opening it: the end of a running command's output, the first line of a failure, and
 * whatever waits for a decision.
 */
import { ChevronRight } from "lucide-react";
import { useId } from "react";
import { cn } from "@/kit/classes";
import { useNow } from "@/kit/clock";
import type { ActionRequired } from "@/log/types";
import { elapsed, firstLine } from "../format";
import { useLiveText, useShown } from "../live";
import type { CallActions } from "./actions";
import { Approval } from "./approval";
import { Body } from "./bodies";
import type { Call } from "./call";
import { StateGlyph } from "./glyph";
import { LiveTail } from "./output";
import { readResult } from "./results";
import { Waiting } from "./waiting";
import { aside, headline, stateWord } from "./words";

interface ToolCardProps {
  call: Call;
  action: ActionRequired | null;
  actions: CallActions | null;
  /** Of the part, while it is being written. */
  index: number;
  isOpen: boolean;
  onToggle: () => void;
}

export function ToolCard(props: ToolCardProps) {
  return props.call.state === "writing" ? <WritingCard {...props} /> : <Card {...props} />;
}

/** The arguments are still being said: what is there of them is shown. */
function WritingCard({ index, ...props }: ToolCardProps) {
  const source = useLiveText(index);
  return <Card {...props} index={index} call={{ ...props.call, source }} />;
}

function Card({ call, action, actions, isOpen, onToggle }: ToolCardProps) {
  const id = useId();
  return (
    <div className="tool-card">
      <Header call={call} isOpen={isOpen} onToggle={onToggle} controls={id} />
      {action?.kind === "approval" && <Approval call={call} action={action} actions={actions} />}
      {action !== null && action.kind !== "approval" && (
        <Waiting call={call} action={action} actions={actions} />
      )}
      {!isOpen && call.state === "running" && <Tail callId={call.id} />}
      {!isOpen && <Failure call={call} />}
      {isOpen && (
        <div
          id={id}
          className="mt-1 ml-6 overflow-hidden rounded-card border border-line bg-raised"
        >
          <Body call={call} />
        </div>
      )}
    </div>
  );
}

interface HeaderProps {
  call: Call;
  isOpen: boolean;
  onToggle: () => void;
  controls: string;
}

function Header({ call, isOpen, onToggle, controls }: HeaderProps) {
  const { verb, object } = headline(call);
  const beside = aside(call);
  return (
    <button
      type="button"
      data-row-action="toggle"
      aria-expanded={isOpen}
      aria-controls={isOpen ? controls : undefined}
      onClick={onToggle}
      className="group/tool flex h-7 w-full items-center gap-2 rounded-control text-left text-ui hover:bg-hover coarse:h-11"
    >
      <StateGlyph state={call.state} />
      <span className="flex min-w-0 flex-1 items-baseline gap-1.5">
        <span className="shrink-0 text-muted">{verb}</span>
        <span className="min-w-0 truncate font-mono text-code">{object}</span>
      </span>
      <span
        className={cn(
          "numeric flex shrink-0 items-center gap-2 text-meta",
          call.state === "failed" ? "text-danger" : "text-muted",
        )}
      >
        {/* What the glyph says, where no word does. */}
        {beside.length === 0 && <span className="sr-only">{stateWord(call.state)}</span>}
        {beside.length > 0 && <span>{beside.join(" · ")}</span>}
        {call.state === "running" && call.startedAt !== null && <Elapsed since={call.startedAt} />}
      </span>
      <ChevronRight
        aria-hidden
        className={cn("size-4 shrink-0 text-faint", isOpen && "rotate-90")}
      />
    </button>
  );
}

function Elapsed({ since }: { since: string }) {
  const now = useNow();
  const ms = now - Date.parse(since);
  return ms < 1000 ? null : <span className="numeric">{elapsed(ms)}</span>;
}

function Tail({ callId }: { callId: string }) {
  return <LiveTail text={useShown(callId)} />;
}

function Failure({ call }: { call: Call }) {
  if (call.state !== "failed" && call.state !== "unknown" && call.state !== "timed out")
    return null;
  const { text, exitCode } = readResult(call.result);
  // Of a command the last words say why; of everything else, the first.
  const line = exitCode === null ? firstLine(text) : lastLine(text);
  if (line === "") return null;
  return (
    <p
      className="ml-6 truncate border-l-2 border-line pl-3 font-mono text-code text-muted"
      title={line}
    >
      {line}
    </p>
  );
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
