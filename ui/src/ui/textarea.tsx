/** A text area as high as its text; a maximum height in its class bounds it. */
import { type ComponentProps, type RefObject, useLayoutEffect, useRef } from "react";
import { cn } from "@/lib/classes";

type TextareaProps = Omit<ComponentProps<"textarea">, "ref" | "value"> & {
  value: string;
  ref?: RefObject<HTMLTextAreaElement | null>;
};

export function Textarea({ value, ref, className, ...rest }: TextareaProps) {
  const own = useRef<HTMLTextAreaElement>(null);
  const area = ref ?? own;
  useAutosize(area, value);
  return (
    <textarea
      ref={area}
      value={value}
      className={cn("field-sizing-content resize-none", className)}
      {...rest}
    />
  );
}

/** For browsers without `field-sizing`. */
function useAutosize(area: RefObject<HTMLTextAreaElement | null>, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is what the height depends on
  useLayoutEffect(() => {
    const { current } = area;
    if (current === null || globalThis.CSS?.supports?.("field-sizing", "content")) return;
    current.style.height = "auto";
    current.style.height = `${current.scrollHeight}px`;
  }, [area, text]);
}
