import { useEffect, useRef, useState } from "react";
import { useNow } from "@/lib/clock";
import { announce, NOT_ANNOUNCED } from "./announce";
import type { Item } from "./items";

/** The one place that speaks: politely about progress, at once about failures and decisions. */
export function StatusRegion({ items }: { items: readonly Item[] }) {
  const now = useNow();
  const state = useRef(NOT_ANNOUNCED);
  const [polite, setPolite] = useState("");
  const [assertive, setAssertive] = useState("");
  useEffect(() => {
    const said = announce(state.current, items, now);
    state.current = said.state;
    if (said.polite === null && said.assertive === null) return;
    // What was asked of somebody is over when something else is announced.
    setPolite((was) => said.polite ?? was);
    setAssertive(said.assertive ?? "");
  }, [items, now]);
  return (
    <div className="sr-only">
      <div role="status" aria-live="polite">
        {polite}
      </div>
      <div role="alert" aria-live="assertive">
        {assertive}
      </div>
    </div>
  );
}
