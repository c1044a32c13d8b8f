/** Tables, task lists, strikethrough and bare links, as GitHub has them. */
import remarkGfm from "remark-gfm";
import { markdownStrings as t } from "@/i18n/en/markdown";
import type { MarkdownPlugin } from "./plugin";

export const gfm: MarkdownPlugin = {
  remark: () => [remarkGfm],
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
