import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cn } from "@/lib/classes";

const button = cva(
  "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-control font-medium whitespace-nowrap transition-colors duration-150 disabled:opacity-50 aria-disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
  {
    variants: {
      variant: {
        plain: "text-muted hover:bg-hover hover:text-fg",
        outline: "border border-line bg-raised text-fg hover:bg-hover",
        accent: "bg-accent text-accent-fg hover:bg-accent-hover",
        danger: "bg-danger text-danger-fg hover:opacity-90",
      },
      size: {
        small: "h-7 px-2 text-meta coarse:h-11",
        normal: "h-8 px-3 text-ui coarse:h-11",
        large: "h-10 px-4 text-ui coarse:h-11",
        icon: "size-8 coarse:size-11",
        iconSmall: "size-7 coarse:size-11",
      },
    },
    defaultVariants: { variant: "outline", size: "normal" },
  },
);

/** `tooltip` instead of `title`, which has neither keyboard nor touch (`ui/tooltip.tsx` shows it). */
export type ButtonProps = Omit<ComponentProps<"button">, "title"> &
  VariantProps<typeof button> & { tooltip?: string };

export function Button({
  variant,
  size,
  className,
  tooltip,
  type = "button",
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      className={cn(button({ variant, size }), className)}
      data-tooltip={tooltip}
      aria-description={tooltip === rest["aria-label"] ? undefined : tooltip}
      {...rest}
    />
  );
}
