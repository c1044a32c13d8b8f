import { ChevronDown } from "lucide-react";
import type { WhenBusy } from "@/engine/actions";
import { composerStrings as t } from "@/i18n/en/composer";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";

interface WhenBusyMenuProps {
  /** Not null: nothing can be sent, and why. */
  reason: string | null;
  onSend: (whenBusy: WhenBusy) => void;
}

const WAYS: readonly WhenBusy[] = ["queue", "interrupt"];

/** While the agent works: when shall this be said? */
export function WhenBusyMenu({ reason, onSend }: WhenBusyMenuProps) {
  return (
    <Menu
      align="end"
      side="top"
      trigger={
        <Button
          variant="accent"
          size="icon"
          aria-label={t.whenToSend}
          className="w-7 rounded-l-none border-l border-accent-fg/30 coarse:w-11"
        >
          <ChevronDown aria-hidden />
        </Button>
      }
    >
      {WAYS.map((way) => (
        <MenuItem key={way} disabled={reason !== null} onSelect={() => onSend(way)}>
          <span>
            <span className="block">{t.ways[way].name}</span>
            <span className="block text-meta text-muted">{t.ways[way].hint}</span>
          </span>
        </MenuItem>
      ))}
    </Menu>
  );
}
