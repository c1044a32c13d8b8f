import { Tooltip as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";

/** Says what a control does, or why it does nothing now. */
export function Tooltip({ label, children }: { label: ReactNode; children: ReactElement }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={6}
          className="z-50 max-w-72 rounded-control bg-fg px-2 py-1 text-meta text-bg shadow-float"
        >
          {label}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export const TooltipProvider = Radix.Provider;
