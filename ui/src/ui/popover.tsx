import { Popover as Radix } from "radix-ui";
import type { ComponentProps, ReactElement, ReactNode } from "react";
import { cn } from "@/lib/classes";

interface PopoverProps
  extends Pick<ComponentProps<typeof Radix.Root>, "open" | "onOpenChange">,
    Pick<ComponentProps<typeof Radix.Content>, "side" | "align"> {
  readonly label: string;
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  /** Without a margin inside. */
  readonly flush?: boolean;
}

/** Something to read or do beside what opened it. */
export function Popover({
  label,
  trigger,
  children,
  open,
  onOpenChange,
  side,
  align = "end",
  flush = false,
}: PopoverProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={label}
          side={side}
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className={cn(
            "z-50 w-72 max-w-[calc(100vw-1rem)] rounded-card border border-line bg-raised text-ui shadow-float outline-none",
            flush ? "overflow-hidden" : "p-3",
          )}
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
