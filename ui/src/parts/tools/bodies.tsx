/** What is behind a tool card's header, by what kind of tool it is. */
import type { ReactNode } from "react";
import { useShown } from "../live";
import { CodeBlock } from "../markdown/code-block";
import { languageOf } from "../markdown/languages";
import { ArgumentList } from "./arguments";
import { argument, type Call } from "./call";
import { DiffView } from "./diff-view";
import { editsOf } from "./edits";
import { Output } from "./output";
import { pretty, readLines, readResult } from "./results";
import { familyOf } from "./words";

export function Body({ call }: { call: Call }) {
  switch (familyOf(call.tool)) {
    case "command":
      return <Command call={call} />;
    case "read":
      return <FileRead call={call} />;
    case "edit":
      return <Edit call={call} />;
    case "search":
    case "process":
    case "workspace":
      return <Brief call={call} />;
    case "other":
      return <Generic call={call} />;
  }
}

function Command({ call }: { call: Call }) {
  const command = argument(call, "command");
  const cwd = argument(call, "cwd");
  return (
    <>
      <Section label={cwd === "" ? "Command" : `Command in ${cwd}`}>
        <pre className="max-h-60 overflow-auto font-mono text-code break-words whitespace-pre-wrap">
          <span aria-hidden className="text-faint select-none">
            ${" "}
          </span>
          {command}
        </pre>
      </Section>
      {call.state === "running" ? (
        <LiveOutput callId={call.id} />
      ) : (
        <Output text={readResult(call.result).text} label="Output" />
      )}
    </>
  );
}

function LiveOutput({ callId }: { callId: string }) {
  const text = useShown(callId);
  if (text === "") return <p className="px-3 py-2 text-meta text-muted">No output yet</p>;
  return <Output text={text} label="Output so far" />;
}

function FileRead({ call }: { call: Call }) {
  const { text } = readResult(call.result);
  if (call.state !== "done" || text === "") return <Output text={text} label="Result" />;
  const file = readLines(text);
  return (
    <>
      {file.note !== "" && <p className="numeric px-3 pt-2 text-meta text-muted">{file.note}</p>}
      <CodeBlock
        code={file.text.replace(/\n$/, "")}
        language={languageOf(argument(call, "path"))}
        isWriting={false}
        firstLine={file.firstLine}
      />
    </>
  );
}

function Edit({ call }: { call: Call }) {
  const edits = editsOf(call);
  const { text } = readResult(call.result);
  return (
    <>
      {edits.map((edit) => (
        <DiffView key={edit.path} text={edit.diff} path={edit.path} />
      ))}
      {(edits.length === 0 || call.state !== "done") && <Output text={text} label="Result" />}
    </>
  );
}

/** What was asked is in the header already; what came back is what one opens it for. */
function Brief({ call }: { call: Call }) {
  const { text } = readResult(call.result);
  const hasMore = Object.keys(call.arguments ?? {}).length > 1;
  return (
    <>
      {hasMore && <Given call={call} />}
      {call.result !== null && <Output text={text} label="Result" />}
      {call.result === null && <p className="px-3 py-2 text-meta text-muted">No result yet</p>}
    </>
  );
}

function Generic({ call }: { call: Call }) {
  const { output } = call.result ?? {};
  const text = typeof output === "string" ? output : pretty(output);
  return (
    <>
      <Given call={call} />
      {call.result !== null && <Output text={text} label="Result" />}
    </>
  );
}

function Given({ call }: { call: Call }) {
  return (
    <Section label="Arguments">
      {call.arguments === null ? (
        <pre className="font-mono text-code break-all whitespace-pre-wrap">{call.source}</pre>
      ) : (
        <ArgumentList given={call.arguments} exact={call.exact} />
      )}
    </Section>
  );
}

function Section({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section
      aria-label={label}
      className="border-b border-line bg-subtle px-3 py-2 last:border-b-0"
    >
      <p className="mb-1 text-meta text-muted">{label}</p>
      {children}
    </section>
  );
}
