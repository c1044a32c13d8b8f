import { DropdownMenu as Radix } from "radix-ui";
import type { ComponentProps, ReactElement, ReactNode } from "react";
import { cn } from "@/lib/classes";

interface MenuProps extends Pick<ComponentProps<typeof Radix.Content>, "align" | "side"> {
  trigger: ReactElement;
  children: ReactNode;
}

export function Menu({ trigger, align = "end", side = "bottom", children }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          side={side}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-44 max-w-80 overflow-y-auto rounded-card border border-line bg-raised p-1 text-ui shadow-float"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

const ITEM =
  "flex min-h-8 cursor-default items-center gap-2 rounded-control px-2 py-1 text-ui outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-hover coarse:min-h-11 [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted";

export function MenuItem({ className, ...rest }: ComponentProps<typeof Radix.Item>) {
  return <Radix.Item className={cn(ITEM, className)} {...rest} />;
}

export function MenuLine() {
  return <Radix.Separator className="my-1 h-px bg-line" />;
}

export function MenuLabel({ className, ...rest }: ComponentProps<typeof Radix.Label>) {
  return <Radix.Label className={cn("px-2 py-1 text-meta text-muted", className)} {...rest} />;
}

/** Of several, one holds. */
export const MenuChoices = Radix.RadioGroup;

interface MenuChoiceProps extends ComponentProps<typeof Radix.RadioItem> {
  /** A second line that says what the choice means. */
  hint?: ReactNode;
}

export function MenuChoice({ className, children, hint, ...rest }: MenuChoiceProps) {
  return (
    <Radix.RadioItem className={cn(ITEM, "relative pl-7", className)} {...rest}>
      <Radix.ItemIndicator className="absolute top-3 left-2.5 coarse:top-4.5">
        <span aria-hidden className="block size-2 rounded-full bg-accent" />
      </Radix.ItemIndicator>
      <span className="min-w-0">
        <span className="block truncate">{children}</span>
        {hint !== undefined && <span className="block text-meta text-muted">{hint}</span>}
      </span>
    </Radix.RadioItem>
  );
}
