import { useEffect, useRef, useState } from "react";
import { useNow } from "@/kit/clock";
import type { Item } from "../transcript/items";
import { announce, UNTOLD } from "./announce";

/** The one place that speaks: politely about progress, at once about failures and decisions. */
export function StatusRegion({ items }: { items: readonly Item[] }) {
  const now = useNow();
  const told = useRef(UNTOLD);
  const [polite, setPolite] = useState("");
  const [assertive, setAssertive] = useState("");
  useEffect(() => {
    const said = announce(told.current, items, now);
    told.current = said.told;
    if (said.polite === null && said.assertive === null) return;
    // What was asked of somebody is over when something else is told.
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
