import { CodeBlock } from "@/markdown/code-block";
import { Markdown } from "@/markdown/markdown";
import * as f from "@/testing/fixtures";
import { Group, State } from "./frame";

export function MarkdownStates() {
  return (
    <Group title="Markdown">
      <State name="All of it">
        <Markdown text={f.PROSE} />
      </State>
      <State name="Headings">
        <Markdown
          text={[1, 2, 3, 4, 5, 6].map((n) => `${"#".repeat(n)} Level ${n}`).join("\n\n")}
        />
      </State>
      <State name="Footnotes, formulas and a container, without a library">
        <Markdown text={f.EXTENSIONS} />
      </State>
      <State name="Long code, folded">
        <CodeBlock code={f.LONG_CODE} language="python" isWriting={false} />
      </State>
      <State name="Long code, being written">
        <CodeBlock code={f.LONG_CODE} language="python" isWriting />
      </State>
      <State name="Hostile">
        <Markdown text={f.HOSTILE} />
      </State>
    </Group>
  );
}
