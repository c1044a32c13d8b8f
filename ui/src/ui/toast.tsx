/** Short sentences at the edge of the page, maybe with one thing to do about them. */
import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { create } from "zustand";
import { commonStrings } from "@/i18n/en/common";
import { cn } from "@/lib/classes";
import { Button } from "./button";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly variant: "plain" | "danger";
  readonly action?: { readonly label: string; readonly act: () => void };
}

const useToasts = create<{ toasts: readonly Toast[] }>(() => ({ toasts: [] }));
let last = 0;

export function showToast(
  text: string,
  variant: Toast["variant"] = "plain",
  action?: Toast["action"],
): void {
  const id = ++last;
  useToasts.setState(({ toasts }) => ({
    toasts: [...toasts.slice(-3), { id, text, variant, action }],
  }));
}

function forget(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((each) => each.id !== id) }));
}

export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <Radix.Provider duration={7000}>
      {toasts.map(({ id, text, variant, action }) => (
        <Radix.Root
          key={id}
          onOpenChange={(open) => open || forget(id)}
          className={cn(
            "flex items-center gap-3 rounded-card border border-line bg-raised py-2 pr-2 pl-3 shadow-float",
            variant === "danger" && "border-danger",
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
            <Button variant="plain" size="iconSmall" aria-label={commonStrings.close}>
              <X />
            </Button>
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport className="fixed top-14 right-4 z-50 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2" />
    </Radix.Provider>
  );
}
