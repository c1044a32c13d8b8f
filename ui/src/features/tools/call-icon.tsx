import {
  Ban,
  CircleHelp,
  CircleMinus,
  CircleSlash,
  Hand,
  LoaderCircle,
  type LucideIcon,
  TimerOff,
  X,
} from "lucide-react";
import { cn } from "@/lib/classes";
import type { Call, CallState } from "./call";
import { rendererOf } from "./renderers";

/** `null`: the icon of the tool; that a call is done needs no sign of its own. */
const STATE_ICONS: Readonly<Record<CallState, readonly [LucideIcon | null, string]>> = {
  writing: [LoaderCircle, "text-accent animate-spin"],
  running: [LoaderCircle, "text-accent animate-spin"],
  awaiting: [Hand, "text-warn"],
  done: [null, "text-faint"],
  failed: [X, "text-danger"],
  denied: [Ban, "text-muted"],
  cancelled: [CircleSlash, "text-muted"],
  "timed out": [TimerOff, "text-warn"],
  "not run": [CircleMinus, "text-muted"],
  unknown: [CircleHelp, "text-warn"],
};

/** Beside the words, never instead of them. */
export function CallIcon({ call }: { call: Call }) {
  const [icon, className] = STATE_ICONS[call.state];
  const Icon = icon ?? rendererOf(call.tool).icon;
  return <Icon aria-hidden className={cn("size-4 shrink-0", className)} />;
}
