import type { ReactNode } from "react";
import { cn } from "@/lib/classes";

/**
 * Buttons that come with the pointer or the focus, and are always there for a finger. They take their
 * room always: nothing moves when they appear.
 */
export function RowActions({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <span
      className={cn(
        "flex items-center opacity-0 transition-opacity duration-150 group-focus-within/row:opacity-100 group-hover/row:opacity-100 coarse:opacity-100 has-[[data-state=open]]:opacity-100",
        className,
      )}
    >
      {children}
    </span>
  );
}
