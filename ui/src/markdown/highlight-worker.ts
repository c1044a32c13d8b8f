/**
 * The highlighter, in a thread of its own: shiki's core with the browser's own regular expressions (no
 * WebAssembly, which our content security policy forbids), and a chunk for each language. Code of forty
 * lines takes a tenth of a second at first, in which nobody could write.
 */
import { createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

import type { HighlightRequest, HighlightResponse, Token } from "./highlight";

const LANGUAGES: Readonly<Record<string, () => Promise<{ default: unknown }>>> = {
  bash: () => import("shiki/langs/bash.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

let made: Promise<HighlighterCore> | null = null;

function highlighter(): Promise<HighlighterCore> {
  made ??= createHighlighterCore({
    themes: [
      import("shiki/themes/github-light-high-contrast.mjs"),
      import("shiki/themes/github-dark-default.mjs"),
    ],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  return made;
}

async function tokenize(code: string, language: string): Promise<Token[][]> {
  const core = await highlighter();
  const load = LANGUAGES[language];
  if (load === undefined) throw new Error(`There is no grammar for ${language}.`);
  if (!core.getLoadedLanguages().includes(language)) {
    await core.loadLanguage(
      (await load()).default as Parameters<HighlighterCore["loadLanguage"]>[0],
    );
  }
  const { tokens } = core.codeToTokens(code, {
    lang: language,
    themes: { light: "github-light-high-contrast", dark: "github-dark-default" },
    defaultColor: false,
  });
  return tokens.map((line) =>
    line.map((token) => ({ text: token.content, style: token.htmlStyle as React.CSSProperties })),
  );
}

self.addEventListener(
  "message",
  ({ data: { id, code, language } }: MessageEvent<HighlightRequest>) => {
    const tell = (response: HighlightResponse) => self.postMessage(response);
    tokenize(code, language).then(
      (lines) => tell({ id, lines }),
      () => tell({ id, lines: null }),
    );
  },
);
