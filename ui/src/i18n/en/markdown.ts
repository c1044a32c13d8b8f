/** English strings of rendered Markdown and code. */
export const markdownStrings = {
  table: "Table",
  done: "done",
  toDo: "to do",
  footnotes: "Footnotes",
  formula: "Formula",
  diagram: "Diagram",
  diagramSource: "Source",
  source: (number: number, title: string) => `Source ${number}: ${title}`,
  image: (alt: string, host: string) => `Image${alt === "" ? "" : ` “${alt}”`} · ${host}`,
  code: (language: string) => `Code, ${language}`,
  plainText: "text",
  wrapLines: "Wrap lines",
  copyCode: "Copy code",
  showFewer: "Show fewer",
  showAll: (lines: number) => `Show all ${lines} lines`,
} as const;
