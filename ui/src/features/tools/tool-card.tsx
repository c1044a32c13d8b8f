/**
 * A tool call: a title line, and a body that opens. Shown without opening it: the end of a running
 * command's output, the first line of a failure, and the form of a required action.
 */

import type { ActionRequired } from "@holdfast/client";
import { ChevronRight } from "lucide-react";
import { Suspense, useId } from "react";
import { useLiveText, useShown } from "@/features/chat/live";
import { cn } from "@/lib/classes";
import { useNow } from "@/lib/clock";
import { elapsed, firstLine } from "@/lib/format";
import { ActionRequiredView } from "./action-required";
import type { CallActions } from "./actions";
import type { Call } from "./call";
import { CallIcon } from "./call-icon";
import { LiveTail } from "./output";
import { rendererOf } from "./renderers";
import { outputText } from "./results";
import { aside, headline, stateWord } from "./words";

interface ToolCardProps {
  call: Call;
  action: ActionRequired | null;
  actions: CallActions | null;
  /** Of the part, while it is being written. */
  index: number;
  /** Of a plan that the user has not answered yet. */
  isNewest?: boolean;
  isOpen: boolean;
  onToggle: () => void;
}

export function ToolCard(props: ToolCardProps) {
  return props.call.state === "writing" ? <WritingCard {...props} /> : <Card {...props} />;
}

/** The arguments are still being written: the title shows them as far as they go. */
function WritingCard({ index, ...props }: ToolCardProps) {
  const source = useLiveText(index);
  return <Card {...props} index={index} call={{ ...props.call, source }} />;
}

function Card({ call, action, actions, isNewest = false, isOpen, onToggle }: ToolCardProps) {
  const id = useId();
  const { Body, shown: Shown } = rendererOf(call.tool);
  return (
    <div className="tool-card">
      <Header call={call} isOpen={isOpen} onToggle={onToggle} controls={id} />
      {action !== null && <ActionRequiredView call={call} action={action} actions={actions} />}
      {Shown !== undefined && call.state === "done" && (
        <Shown call={call} actions={actions} isNewest={isNewest} />
      )}
      {!isOpen && call.state === "running" && <Tail callId={call.id} />}
      {!isOpen && <Failure call={call} />}
      {isOpen && (
        <div
          id={id}
          className="mt-1 ml-6 overflow-hidden rounded-card border border-line bg-raised"
        >
          <Suspense fallback={<BodyLoading />}>
            <Body call={call} />
          </Suspense>
        </div>
      )}
    </div>
  );
}

/** The height of a line, so that little moves when the body is there. */
function BodyLoading() {
  return <div aria-busy className="h-9" />;
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
      <CallIcon call={call} />
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
        {/* The state of the icon, where no word says it. */}
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
  const text = outputText(call.result);
  // The last line of a command says why it failed; of other tools, the first does.
  const line = (call.result?.exit_code ?? null) === null ? firstLine(text) : lastLine(text);
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
