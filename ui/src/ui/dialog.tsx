import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { commonStrings } from "@/i18n/en/common";
import { cn } from "@/lib/classes";
import { Button } from "./button";
import { useFocusBack } from "./focus";

interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly children: ReactNode;
  readonly className?: string;
}

export function Dialog({ open, onOpenChange, title, children, className }: DialogProps) {
  const focusBack = useFocusBack();
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0_0_0/0.4)]" />
        <Radix.Content
          {...focusBack}
          aria-describedby={undefined}
          className={cn(
            "fixed top-[12dvh] left-1/2 z-50 max-h-[76dvh] w-[30rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 overflow-auto rounded-panel border border-line bg-raised p-4 shadow-float",
            className,
          )}
        >
          <div className="mb-3 flex items-center justify-between gap-2">
            <Radix.Title className="font-semibold text-title">{title}</Radix.Title>
            <Radix.Close asChild>
              <Button variant="plain" size="iconSmall" aria-label={commonStrings.close}>
                <X />
              </Button>
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
