/** What a surface shows when it has nothing to show: empty, loading, or failed. */
import { type ReactNode, useEffect, useState } from "react";
import { cn } from "@/lib/classes";

export function EmptyState({
  title,
  hint,
  children,
}: {
  title: string;
  hint?: string;
  children?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <p className="font-medium text-fg text-ui">{title}</p>
      {hint && <p className="max-w-80 text-meta text-muted">{hint}</p>}
      {children && <div className="mt-2 flex gap-2">{children}</div>}
    </div>
  );
}

const LATE_MS = 150;

/** Grey lines, but only if it takes long enough to be noticed. */
export function Skeleton({ lines, className }: { lines: number; className?: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  // It has its place from the start, so that nothing moves when the lines come.
  return (
    <div
      aria-hidden="true"
      className={cn("flex flex-col gap-3 p-3", !late && "invisible", className)}
    >
      {Array.from({ length: lines }, (_, n) => n).map((n) => (
        <div key={n} className={cn("h-4 rounded bg-hover", n % 3 === 2 && "w-2/3")} />
      ))}
    </div>
  );
}
