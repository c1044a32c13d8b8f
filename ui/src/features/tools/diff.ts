/** A unified diff, read line by line into files and hunks. Forgiving: what it does not know is context. */

export type LineKind = "add" | "del" | "same" | "note";

export interface DiffLine {
  kind: LineKind;
  text: string;
  before: number | null;
  after: number | null;
}

interface Hunk {
  header: string;
  lines: DiffLine[];
}

export interface FileDiff {
  path: string;
  hunks: Hunk[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

export function parseDiff(text: string, path = ""): FileDiff[] {
  const reader = new Reader(path);
  for (const line of text.replace(/\n$/, "").split("\n")) reader.read(line);
  return reader.files.filter((file) => file.hunks.length > 0);
}

class Reader {
  readonly files: FileDiff[] = [];
  private hunk: Hunk | null = null;
  private before = 0;
  private after = 0;
  /** Lines that the present hunk still owes: a removed line «-- x» reads like a file header else. */
  private owedBefore = 0;
  private owedAfter = 0;

  constructor(private readonly path: string) {}

  read(line: string): void {
    if (this.hunk !== null && (this.owedBefore > 0 || this.owedAfter > 0)) {
      if (this.readInside(this.hunk, line)) return;
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) this.begin(hunk);
    else if (line.startsWith("\\") && this.hunk !== null) this.note(this.hunk, line);
    else if (line.startsWith("+++ ")) this.name(line.slice(4));
    else if (line.startsWith("--- ")) this.open(line.slice(4));
  }

  private open(name: string): void {
    this.hunk = null;
    this.files.push({ path: plain(name) || this.path, hunks: [], added: 0, removed: 0 });
  }

  private name(name: string): void {
    const file = this.files.at(-1);
    if (file === undefined || this.hunk !== null) this.open(name);
    else if (plain(name) !== "") file.path = plain(name);
  }

  private begin([
    header,
    before = "1",
    beforeLines = "1",
    after = "1",
    afterLines = "1",
  ]: RegExpExecArray): void {
    if (this.files.length === 0) this.open(this.path);
    this.before = Number(before);
    this.after = Number(after);
    this.owedBefore = Number(beforeLines);
    this.owedAfter = Number(afterLines);
    this.hunk = { header, lines: [] };
    this.files.at(-1)?.hunks.push(this.hunk);
  }

  private readInside(hunk: Hunk, line: string): boolean {
    const file = this.files.at(-1);
    if (file === undefined) return false;
    const text = line.slice(1);
    switch (line[0]) {
      case "+":
        file.added++;
        this.owedAfter--;
        hunk.lines.push({ kind: "add", text, before: null, after: this.after++ });
        return true;
      case "-":
        file.removed++;
        this.owedBefore--;
        hunk.lines.push({ kind: "del", text, before: this.before++, after: null });
        return true;
      case " ":
      case undefined: // an editor that strips trailing spaces
        this.owedBefore--;
        this.owedAfter--;
        hunk.lines.push({ kind: "same", text, before: this.before++, after: this.after++ });
        return true;
      case "\\":
        this.note(hunk, line);
        return true;
      default:
        return false; // cut short; what follows is read afresh
    }
  }

  private note(hunk: Hunk, line: string): void {
    hunk.lines.push({ kind: "note", text: line.replace(/^\\ ?/, ""), before: null, after: null });
  }
}

/** `a/src/x.py\t2026-01-01` → `src/x.py`; `/dev/null` → nothing. */
function plain(name: string): string {
  const bare = (name.split("\t")[0] ?? "").trim();
  return bare === "/dev/null" ? "" : bare.replace(/^[ab]\//, "");
}
