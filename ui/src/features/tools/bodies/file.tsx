import { argument, type Call } from "@/features/tools/call";
import { Output } from "@/features/tools/output";
import { outputImages, outputText } from "@/features/tools/results";
import { toolStrings } from "@/i18n/en/tools";
import { CodeBlock } from "@/markdown/code-block";
import { languageOf } from "@/markdown/languages";
import { ImageOutput } from "./image-output";

export default function FileBody({ call }: { call: Call }) {
  const text = outputText(call.result);
  const images = call.state === "done" ? outputImages(call.result) : [];
  if (images.length > 0) return <ImageOutput images={images} caption={text} />;
  if (call.state !== "done" || text === "")
    return <Output text={text} label={toolStrings.body.result} />;
  const { code, firstLine } = numberedLines(text);
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

const NUMBERED = /^ *(\d+)\t/;

/** The text without the line numbers that `read_file` gives to the model: the page has its own. */
export function numberedLines(text: string): { code: string; firstLine: number } {
  const rows = text.replace(/\n$/, "").split("\n");
  const first = NUMBERED.exec(rows[0] ?? "")?.[1];
  if (first === undefined || !rows.every((row) => NUMBERED.test(row)))
    return { code: rows.join("\n"), firstLine: 1 };
  return {
    code: rows.map((row) => row.replace(NUMBERED, "")).join("\n"),
    firstLine: Number(first),
  };
}
