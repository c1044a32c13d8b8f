import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cn } from "./classes";

const button = cva(
  "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-control font-medium whitespace-nowrap transition-colors duration-150 disabled:opacity-50 aria-disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
  {
    variants: {
      look: {
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
    defaultVariants: { look: "outline", size: "normal" },
  },
);

export type ButtonProps = ComponentProps<"button"> & VariantProps<typeof button>;

export function Button({ look, size, className, type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={cn(button({ look, size }), className)} {...rest} />;
}
