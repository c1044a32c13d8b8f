import { useState } from "react";
import { allowNotices, permissionNow } from "@/features/notifications/notifications";
import { settingsStrings as t } from "@/i18n/en/settings";
import { usePreferences } from "@/lib/preferences";
import { Button } from "@/ui/button";
import { Switch } from "@/ui/switch";
import { Section } from "./section";

export function Notices() {
  const { notify, set } = usePreferences();
  return (
    <Section title={t.sections.notifications} hint={t.noticesHint}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Switch label={t.notify} checked={notify} onChange={(on) => set({ notify: on })} />
        {notify && <BrowserPermission />}
      </div>
    </Section>
  );
}

/** Whether the browser shows notifications, which is the browser's decision. */
function BrowserPermission() {
  const [permission, setPermission] = useState(permissionNow());
  if (permission === "default") {
    return (
      <>
        <Button onClick={() => void allowNotices().then(setPermission)}>{t.noticesAsk}</Button>
        <span className="text-faint text-meta">{t.noticesAskHint}</span>
      </>
    );
  }
  const texts = { granted: t.noticesGranted, denied: t.noticesDenied, none: t.noticesNone };
  return <span className="text-muted text-ui">{texts[permission ?? "none"]}</span>;
}
