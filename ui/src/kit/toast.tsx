/** Short sentences at the edge of the page, maybe with one thing to do about them. */
import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { create } from "zustand";
import { words } from "@/words";
import { Button } from "./button";
import { cn } from "./classes";

interface Said {
  readonly id: number;
  readonly text: string;
  readonly look: "plain" | "danger";
  readonly action?: { readonly label: string; readonly act: () => void };
}

const useSaid = create<{ said: readonly Said[] }>(() => ({ said: [] }));
let last = 0;

export function say(text: string, look: Said["look"] = "plain", action?: Said["action"]): void {
  const id = ++last;
  useSaid.setState(({ said }) => ({ said: [...said.slice(-3), { id, text, look, action }] }));
}

function forget(id: number): void {
  useSaid.setState(({ said }) => ({ said: said.filter((each) => each.id !== id) }));
}

export function Toasts() {
  const said = useSaid((state) => state.said);
  return (
    <Radix.Provider duration={7000}>
      {said.map(({ id, text, look, action }) => (
        <Radix.Root
          key={id}
          onOpenChange={(open) => open || forget(id)}
          className={cn(
            "flex items-center gap-3 rounded-card border border-line bg-raised py-2 pr-2 pl-3 shadow-float",
            look === "danger" && "border-danger",
          )}
        >
          <Radix.Description className="min-w-0 flex-1 text-ui break-words">
            {text}
          </Radix.Description>
          {action && (
            <Radix.Action asChild altText={action.label}>
              <Button size="small" onClick={action.act}>
                {action.label}
              </Button>
            </Radix.Action>
          )}
          <Radix.Close asChild>
            <Button look="plain" size="iconSmall" aria-label={words.close}>
              <X />
            </Button>
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport className="fixed right-4 bottom-4 z-50 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2" />
    </Radix.Provider>
  );
}
