/** Edits as unified diffs: our own drawing, since all it takes is a table of lines. */
import { toolStrings } from "@/i18n/en/tools";
import { cn } from "@/lib/classes";
import { type DiffLine, type FileDiff, type LineKind, parseDiff } from "./diff";

const t = toolStrings.body;
const LINES_MAX = 400;

export function DiffView({ text, path }: { text: string; path: string }) {
  const files = parseDiff(text, path);
  if (files.length === 0) return <p className="px-3 py-2 text-meta text-muted">{t.noChanges}</p>;
  return (
    <div className="divide-y divide-line">
      {files.map((file) => (
        <FileView key={file.path} file={file} />
      ))}
    </div>
  );
}

function FileView({ file }: { file: FileDiff }) {
  const lines = file.hunks.flatMap((hunk) => [hunkLine(hunk.header), ...hunk.lines]);
  return (
    <section aria-label={t.changesIn(file.path)}>
      <header className="flex h-8 items-center gap-2 bg-subtle px-3 text-meta">
        <span className="min-w-0 truncate font-mono" title={file.path}>
          {file.path}
        </span>
        <Counts file={file} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key */}
      <div tabIndex={0} className="max-h-96 overflow-auto">
        <table className="w-full border-collapse text-code font-mono">
          <tbody>
            {lines.slice(0, LINES_MAX).map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a diff does not change
              <LineView key={at} line={line} />
            ))}
          </tbody>
        </table>
        {lines.length > LINES_MAX && (
          <p className="px-3 py-2 text-meta text-muted">
            {t.hiddenLines(lines.length - LINES_MAX)}
          </p>
        )}
      </div>
    </section>
  );
}

function Counts({ file }: { file: Pick<FileDiff, "added" | "removed"> }) {
  return (
    <span className="numeric shrink-0 text-meta">
      <span className="text-ok">+{file.added}</span>{" "}
      <span className="text-danger">−{file.removed}</span>
    </span>
  );
}

function hunkLine(header: string): DiffLine {
  return { kind: "note", text: header, before: null, after: null };
}

const LINE_CLASSES: Readonly<Record<LineKind, string>> = {
  add: "bg-diff-add",
  del: "bg-diff-del",
  same: "",
  note: "bg-subtle text-muted",
};
const MARKS: Readonly<Record<LineKind, string>> = { add: "+", del: "−", same: " ", note: " " };
const LINE_PREFIX: Readonly<Record<LineKind, string>> = {
  add: t.added,
  del: t.removed,
  same: "",
  note: "",
};
const NUMBER = "numeric w-px px-2 text-right align-top text-muted select-none";

function LineView({ line }: { line: DiffLine }) {
  return (
    <tr className={LINE_CLASSES[line.kind]}>
      <td className={NUMBER}>{line.before}</td>
      <td className={NUMBER}>{line.after}</td>
      <td className={cn("pr-3 break-all whitespace-pre-wrap", line.kind === "note" && "text-meta")}>
        <span aria-hidden className="mr-1 select-none">
          {MARKS[line.kind]}
        </span>
        <span className="sr-only">{LINE_PREFIX[line.kind]}</span>
        {line.text}
      </td>
    </tr>
  );
}
