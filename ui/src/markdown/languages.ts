/** The languages that code is coloured in, and what people call them. */

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  bash: ["sh", "shell", "zsh", "console", "shellscript"],
  css: [],
  diff: ["patch"],
  docker: ["dockerfile"],
  go: ["golang"],
  html: ["htm"],
  java: [],
  javascript: ["js", "mjs", "cjs", "jsx"],
  json: ["jsonc", "json5"],
  markdown: ["md"],
  python: ["py", "python3"],
  rust: ["rs"],
  sql: ["postgresql", "psql"],
  toml: ["ini"],
  tsx: [],
  typescript: ["ts"],
  yaml: ["yml"],
};

const GRAMMARS = new Map(
  Object.entries(ALIASES).flatMap(([grammar, others]) =>
    [grammar, ...others].map((name) => [name, grammar] as const),
  ),
);

export function aliasOf(language: string): string | null {
  return GRAMMARS.get(language.toLowerCase()) ?? null;
}

const EXTENSIONS: Readonly<Record<string, string>> = { h: "", c: "", Dockerfile: "docker" };

/** The language of a file, by its name; none if nobody knows. */
export function languageOf(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  const ending = name.includes(".") ? (name.split(".").at(-1) ?? "") : name;
  return aliasOf(ending) ?? EXTENSIONS[ending] ?? "";
}
