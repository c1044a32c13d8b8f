import { useShown } from "@/features/chat/live";
import { argument, type Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { Section } from "./section";

const t = toolStrings.body;

export default function CommandBody({ call }: { call: Call }) {
  const description = argument(call, "description");
  return (
    <>
      {description !== "" && <p className="px-3 pt-2 text-meta text-muted">{description}</p>}
      <Section label={t.command(argument(call, "cwd"))}>
        <pre className="max-h-60 overflow-auto font-mono text-code break-words whitespace-pre-wrap">
          <span aria-hidden className="text-faint select-none">
            ${" "}
          </span>
          {argument(call, "command")}
        </pre>
      </Section>
      {call.state === "running" ? (
        <LiveOutput callId={call.id} />
      ) : (
        <Output text={outputText(call.result)} label={t.output} />
      )}
    </>
  );
}

function LiveOutput({ callId }: { callId: string }) {
  const text = useShown(callId);
  if (text === "") return <p className="px-3 py-2 text-meta text-muted">{t.noOutputYet}</p>;
  return <Output text={text} label={t.outputSoFar} />;
}
