/** Tables, task lists, strikethrough and bare links, as GitHub has them. */
import remarkGfm from "remark-gfm";
import { markdownStrings as t } from "@/i18n/en/markdown";
import type { MarkdownPlugin } from "./plugin";

interface Node {
  type: string;
  align?: (string | null)[];
  children?: Node[];
}

/** A remark plugin: a row may have more cells than its head, which would be dropped. */
function remarkWholeRows() {
  return function visit(node: Node): void {
    for (const child of node.children ?? []) visit(child);
    if (node.type !== "table") return;
    const align = node.align ?? [];
    const columns = Math.max(...(node.children ?? []).map((row) => row.children?.length ?? 0));
    node.align = [...align, ...Array(Math.max(0, columns - align.length)).fill(null)];
  };
}

export const gfm: MarkdownPlugin = {
  remark: () => [remarkGfm, remarkWholeRows],
  components: {
    table: ({ children }) => (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
      <section className="table" aria-label={t.table} tabIndex={0}>
        <table>{children}</table>
      </section>
    ),
    input: ({ checked, type }) =>
      type === "checkbox" ? (
        <input
          type="checkbox"
          checked={checked === true}
          disabled
          aria-label={checked ? t.done : t.toDo}
        />
      ) : null,
  },
};
