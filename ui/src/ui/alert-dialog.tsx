import { AlertDialog as Radix } from "radix-ui";
import type { ReactElement } from "react";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "./button";

interface AlertDialogProps {
  /** The button that opens it; left out: `open` says whether it is open. */
  readonly trigger?: ReactElement;
  readonly open?: boolean;
  readonly onOpenChange?: (open: boolean) => void;
  readonly title: string;
  /** What happens, and whether it can be undone. */
  readonly description: string;
  readonly confirm: string;
  readonly onConfirm: () => void;
}

/** Asks before something that is hard to undo. Cancel has the focus. */
export function AlertDialog(props: AlertDialogProps) {
  const { trigger, open, onOpenChange, title, description, confirm, onConfirm } = props;
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      {trigger !== undefined && <Radix.Trigger asChild>{trigger}</Radix.Trigger>}
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[oklch(0_0_0/0.4)]" />
        <Radix.Content className="fixed top-[20dvh] left-1/2 z-50 w-[26rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 rounded-panel border border-line bg-raised p-4 shadow-float">
          <Radix.Title className="font-semibold text-title break-words">{title}</Radix.Title>
          <Radix.Description className="mt-2 text-muted text-ui">{description}</Radix.Description>
          <div className="mt-4 flex justify-end gap-2">
            <Radix.Cancel asChild>
              <Button>{commonStrings.cancel}</Button>
            </Radix.Cancel>
            <Radix.Action asChild onClick={onConfirm}>
              <Button variant="danger">{confirm}</Button>
            </Radix.Action>
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
