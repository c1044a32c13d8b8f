import { CodeBlock } from "@/parts/markdown/code-block";
import { Markdown } from "@/parts/markdown/markdown";
import * as f from "./fixtures";
import { Group, State } from "./gallery";

export function MarkdownStates() {
  return (
    <Group title="Markdown">
      <State name="All of it">
        <Markdown text={f.PROSE} />
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
