/** The edge of the list, to be dragged, or moved with the arrow keys. */
import type { KeyboardEvent, PointerEvent } from "react";
import { commonStrings } from "@/i18n/en/common";

export const MIN_PX = 240;
export const MAX_PX = 420;
export const USUAL_PX = 280;
const STEP_PX = 20;

export function clamped(px: number): number {
  return Number.isFinite(px) ? Math.round(Math.min(MAX_PX, Math.max(MIN_PX, px))) : USUAL_PX;
}

/** The width that a key asks for; null: it asks for none. */
export function widthBy(key: string, px: number): number | null {
  const wanted: Readonly<Record<string, number>> = {
    ArrowLeft: px - STEP_PX,
    ArrowRight: px + STEP_PX,
    Home: MIN_PX,
    End: MAX_PX,
  };
  const asked = wanted[key];
  return asked === undefined ? null : clamped(asked);
}

export function Resizer({ px, onChange }: { px: number; onChange: (px: number) => void }) {
  const press = (event: KeyboardEvent) => {
    const wanted = widthBy(event.key, px);
    if (wanted === null) return;
    event.preventDefault();
    onChange(wanted);
  };
  const drag = (event: PointerEvent<HTMLElement>) => {
    if (event.currentTarget.hasPointerCapture(event.pointerId)) onChange(clamped(event.clientX));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={commonStrings.sidebar.resize}
      aria-valuenow={px}
      aria-valuemin={MIN_PX}
      aria-valuemax={MAX_PX}
      tabIndex={0}
      onKeyDown={press}
      onPointerDown={(event) => {
        event.preventDefault(); // no text is selected on the way
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={drag}
      onDoubleClick={() => onChange(USUAL_PX)}
      className="absolute inset-y-0 -right-1 z-20 w-2 cursor-col-resize touch-none hover:bg-line-strong/30 focus-visible:bg-focus/40 focus-visible:outline-none"
    />
  );
}
