import {
  Ban,
  Check,
  CircleHelp,
  CircleMinus,
  CircleSlash,
  Hand,
  LoaderCircle,
  type LucideIcon,
  TimerOff,
  X,
} from "lucide-react";
import { cn } from "@/kit/classes";
import type { CallState } from "./call";

const GLYPHS: Readonly<Record<CallState, readonly [LucideIcon, string]>> = {
  writing: [LoaderCircle, "text-accent animate-spin"],
  running: [LoaderCircle, "text-accent animate-spin"],
  awaiting: [Hand, "text-warn"],
  done: [Check, "text-faint"],
  failed: [X, "text-danger"],
  denied: [Ban, "text-muted"],
  cancelled: [CircleSlash, "text-muted"],
  "timed out": [TimerOff, "text-warn"],
  "not run": [CircleMinus, "text-muted"],
  unknown: [CircleHelp, "text-warn"],
};

/** Beside the words, never instead of them. */
export function StateGlyph({ state }: { state: CallState }) {
  const [Glyph, look] = GLYPHS[state];
  return <Glyph aria-hidden className={cn("size-4 shrink-0", look)} />;
}
