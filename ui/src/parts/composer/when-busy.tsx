import { ChevronDown } from "lucide-react";
import { Button } from "@/kit/button";
import { Menu, MenuItem } from "@/kit/menu";
import type { WhenBusy } from "@/log/actions";

interface WhenBusyMenuProps {
  /** Not null: nothing can be sent, and why. */
  reason: string | null;
  onSend: (whenBusy: WhenBusy) => void;
}

const WAYS: readonly { way: WhenBusy; name: string; hint: string }[] = [
  { way: "queue", name: "After this turn", hint: "Waits in the queue until the agent is free" },
  {
    way: "interrupt",
    name: "Interrupt and send",
    hint: "Stops the current turn and keeps its text",
  },
];

/** While the agent works: when shall this be said? */
export function WhenBusyMenu({ reason, onSend }: WhenBusyMenuProps) {
  return (
    <Menu
      align="end"
      side="top"
      trigger={
        <Button
          look="accent"
          size="icon"
          aria-label="When to send"
          className="w-7 rounded-l-none border-l border-accent-fg/30 coarse:w-11"
        >
          <ChevronDown aria-hidden />
        </Button>
      }
    >
      {WAYS.map(({ way, name, hint }) => (
        <MenuItem key={way} disabled={reason !== null} onSelect={() => onSend(way)}>
          <span>
            <span className="block">{name}</span>
            <span className="block text-meta text-muted">{hint}</span>
          </span>
        </MenuItem>
      ))}
    </Menu>
  );
}
