/** `:::name … :::`: a container. Its marks are shown as text; what is in it is Markdown. */
import type { MarkdownPlugin } from "./plugin";

const OPENS = /^ {0,3}(:{3,})[ \t]*[A-Za-z{[]/;
const CHARACTERS_MAX = 10_000;

export const directives: MarkdownPlugin = {
  isOpenBlock: (line) => {
    const marks = OPENS.exec(line)?.[1];
    if (marks === undefined) return null;
    const closes = (end: string) => /^:+$/.test(end.trim()) && end.trim().length >= marks.length;
    return { closes, isClosed: false, isVerbatim: false, charactersMax: CHARACTERS_MAX };
  },
};
