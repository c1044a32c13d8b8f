import type { ReactNode } from "react";
import { adminStrings as t } from "@/i18n/en/admin";
import type { Difference } from "./differences";

/** That another administrator was first, and with what. */
export function ConflictNotice({
  found,
  children,
}: {
  found: readonly Difference[];
  children?: ReactNode;
}) {
  return (
    <div role="alert" className="rounded-card border border-warn p-3 text-ui">
      <p className="font-medium text-warn">{t.conflict}</p>
      <p className="text-muted">{t.conflictHint}</p>
      <ul className="mt-1 flex flex-col gap-1 [overflow-wrap:anywhere]">
        {found.map((each) => (
          <li key={each.name}>{t.changedFromTo(each.name, each.before, each.after)}</li>
        ))}
      </ul>
      {children}
    </div>
  );
}
