import { useState } from "react";
import { allowNotices, permissionNow } from "@/app/notices";
import { usePreferences } from "@/app/preferences";
import { Button } from "@/kit/button";
import { Segments } from "@/kit/segments";
import { words } from "@/words";
import { Section } from "./section";

const says = words.settings;
type Choice = "on" | "off";
const CHOICES: readonly (readonly [Choice, string])[] = [
  ["on", says.noticesOn],
  ["off", says.noticesOff],
];

export function Notices() {
  const { notify, set } = usePreferences();
  return (
    <Section title={says.notices} hint={says.noticesHint}>
      <div className="flex flex-wrap items-end gap-3">
        <Segments
          label={says.noticesTell}
          value={notify ? "on" : "off"}
          choices={CHOICES}
          onChange={(chosen) => set({ notify: chosen === "on" })}
        />
        {notify && <OfTheBrowser />}
      </div>
    </Section>
  );
}

/** What the browser makes of it, which is not ours to decide. */
function OfTheBrowser() {
  const [permission, setPermission] = useState(permissionNow());
  if (permission === "default") {
    return (
      <>
        <Button onClick={() => void allowNotices().then(setPermission)}>{says.noticesAsk}</Button>
        <span className="pb-1.5 text-faint text-meta">{says.noticesAskHint}</span>
      </>
    );
  }
  const said = { granted: says.noticesGranted, denied: says.noticesDenied, none: says.noticesNone };
  return <span className="pb-1.5 text-muted text-ui">{said[permission ?? "none"]}</span>;
}
