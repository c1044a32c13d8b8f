import { Check, Copy, X } from "lucide-react";
import { useEffect, useState } from "react";
import { commonStrings } from "@/i18n/en/common";
import { copy } from "@/lib/clipboard";
import { Button, type ButtonProps } from "./button";

type Told = "nothing" | "copied" | "failed";

const TOLD_MS = 1600;

interface CopyButtonProps extends Omit<ButtonProps, "onClick"> {
  /** What is copied; asked for only when it is. */
  text: () => string;
  /** What it copies, in words: "Copy code". */
  label: string;
}

/** Copies, and says whether it worked: a failure is never silent. */
export function CopyButton({ text, label, size = "iconSmall", ...rest }: CopyButtonProps) {
  const [told, setTold] = useState<Told>("nothing");
  useEffect(() => {
    if (told === "nothing") return;
    const timer = setTimeout(() => setTold("nothing"), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);
  const said = { nothing: label, copied: commonStrings.copied, failed: commonStrings.copyFailed }[
    told
  ];
  const Glyph = { nothing: Copy, copied: Check, failed: X }[told];
  const press = () => void copy(text()).then((done) => setTold(done ? "copied" : "failed"));
  return (
    <Button variant="plain" size={size} aria-label={said} tooltip={said} onClick={press} {...rest}>
      <Glyph aria-hidden className={told === "failed" ? "text-danger" : undefined} />
    </Button>
  );
}
