import { Popover as Radix } from "radix-ui";
import type { ReactElement, ReactNode } from "react";

interface PopoverProps {
  readonly label: string;
  readonly trigger: ReactElement;
  readonly children: ReactNode;
}

/** Something to read or do beside what opened it. */
export function Popover({ label, trigger, children }: PopoverProps) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={label}
          align="end"
          sideOffset={4}
          collisionPadding={8}
          className="z-50 w-72 max-w-[calc(100vw-1rem)] rounded-card border border-line bg-raised p-3 text-ui shadow-float outline-none"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
