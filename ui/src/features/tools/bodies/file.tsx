import { argument, type Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { CodeBlock } from "@/markdown/code-block";
import { languageOf } from "@/markdown/languages";

export default function FileBody({ call }: { call: Call }) {
  const text = outputText(call.result);
  if (call.state !== "done" || text === "")
    return <Output text={text} label={toolStrings.body.result} />;
  const code = text.replace(/\n$/, "");
  const { first_line: asked } = call.arguments ?? {};
  const firstLine = typeof asked === "number" ? asked : 1;
  const hasMore = call.result?.truncated === true;
  const lastLine = firstLine + code.split("\n").length - 1;
  return (
    <>
      {(firstLine > 1 || hasMore) && (
        <p className="numeric px-3 pt-2 text-meta text-muted">
          {toolStrings.body.lines(firstLine, lastLine, hasMore)}
        </p>
      )}
      <CodeBlock
        code={code}
        language={languageOf(argument(call, "path"))}
        isWriting={false}
        firstLine={firstLine}
      />
    </>
  );
}
