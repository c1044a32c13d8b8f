/** Numbers as people read them: elapsed time, cost, tokens, sizes, moments. Pure; `now` is passed in. */

const SECOND_MS = 1000;
const MINUTE_S = 60;
const HOUR_S = 3600;

/** `< 0.1 s`, `0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, ms) / SECOND_MS;
  if (seconds > 0 && seconds < 0.05) return "< 0.1 s";
  if (seconds < 0.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE_S) return `${whole} s`;
  if (whole < HOUR_S) return joined(Math.floor(whole / MINUTE_S), "min", whole % MINUTE_S, "s");
  return joined(Math.floor(whole / HOUR_S), "h", Math.floor((whole % HOUR_S) / MINUTE_S), "min");
}

function joined(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

/** What is left until a moment, to the nearest second; but it never says 0 too early. */
export function remaining(until: number, now: number): string {
  if (until <= now) return elapsed(0);
  return elapsed(Math.max(1, Math.round((until - now) / SECOND_MS)) * SECOND_MS);
}

/** A price in millionths of a dollar. `null`: unknown, which is not the same as free. */
export function cost(micros: number | null): string | null {
  if (micros === null) return null;
  if (micros === 0) return "free";
  const dollars = micros / 1_000_000;
  if (dollars < 0.0001) return "< $0.0001";
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  if (dollars < 1) return `$${dollars.toFixed(3)}`;
  return `$${dollars.toFixed(2)}`;
}

/** `950`, `1.2k`, `34k`, `1.2M`. */
export function count(n: number): string {
  if (n < 1000) return String(n);
  // 999,950 and more would be rounded to «1000k».
  if (n < 999_500) return `${scaled(n / 1000)}k`;
  return `${scaled(n / 1_000_000)}M`;
}

function scaled(n: number): string {
  return n < 9.95 ? n.toFixed(1).replace(/\.0$/, "") : String(Math.round(n));
}

/** `12 B`, `3.4 KB`, `1.2 MB`. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 999_500) return `${scaled(n / 1000)} KB`;
  return `${scaled(n / 1_000_000)} MB`;
}

const ENGLISH = new Intl.PluralRules("en");

/** `1 step`, `12 steps`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${ENGLISH.select(n) === "one" ? one : many}`;
}

/** When something ends: `in 12 s` within the hour, `3 Nov, 14:05` later than that. */
export function deadline(until: number, now: number, locale?: string): string {
  if (until - now < HOUR_S * SECOND_MS) return `in ${remaining(until, now)}`;
  return moment(new Date(until).toISOString(), now, locale);
}

/** A moment in the reader's own time zone: `14:05`, `3 Nov, 14:05`, `3 Nov 2025, 14:05`. */
export function moment(iso: string, now: number, locale?: string): string {
  const at = new Date(iso);
  const today = new Date(now);
  const time = at.toLocaleTimeString(locale, { hour: "numeric", minute: "2-digit" });
  if (at.toDateString() === today.toDateString()) return time;
  const date: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  if (at.getFullYear() !== today.getFullYear()) date.year = "numeric";
  return `${at.toLocaleDateString(locale, date)}, ${time}`;
}

/** The last lines of a text that may still grow; an unfinished line counts, a trailing newline does not. */
export function tail(text: string, lines: number): string[] {
  return text.replace(/\n+$/, "").split("\n").slice(-lines);
}

/** The first line that says something, cut to a length. */
export function firstLine(text: string, most = 160): string {
  const line = text.split("\n").find((candidate) => candidate.trim() !== "") ?? "";
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
