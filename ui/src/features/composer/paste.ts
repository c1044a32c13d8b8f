/**
 * Large pastes become folded attachments: a text area with a megabyte in it freezes the page, and a
 * wall of text hides what is asked about it.
 */
import { composerStrings } from "@/i18n/en/composer";

export const PASTE_CHARACTERS_MAX = 4000;
export const PASTE_LINES_MAX = 60;

export interface Attachment {
  id: string;
  name: string;
  text: string;
}

export function isLarge(text: string): boolean {
  return (
    text.length > PASTE_CHARACTERS_MAX || countLines(text, PASTE_LINES_MAX + 1) > PASTE_LINES_MAX
  );
}

/** How many lines, counting no further than `most`. */
export function countLines(text: string, most = Number.POSITIVE_INFINITY): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines < most; at = text.indexOf("\n", at + 1))
    lines++;
  return lines;
}

export function attach(text: string, known: readonly Attachment[]): Attachment {
  let n = known.length + 1;
  while (known.some((one) => one.id === `paste-${n}`)) n++;
  return { id: `paste-${n}`, name: composerStrings.attachments.name(n), text };
}

/**
 * What is sent: the words, then each attachment in a fence that it cannot end itself.
 *
 * Parts of a message are text today; when files can be sent, this is the one place that changes.
 */
export function compose(words: string, attachments: readonly Attachment[]): string {
  const folded = attachments.map((one) => {
    const mark = fenceFor(one.text);
    return `${one.name}:\n${mark}\n${one.text.replace(/\n$/, "")}\n${mark}`;
  });
  return [words.trim(), ...folded].filter((piece) => piece !== "").join("\n\n");
}

function fenceFor(text: string): string {
  let longest = 2;
  for (const match of text.matchAll(/^[ \t]*(`{3,})/gm)) {
    longest = Math.max(longest, match[1]?.length ?? 0);
  }
  return "`".repeat(longest + 1);
}
