/**
 * A draft of some settings, over the settings that it was begun with. Without a draft, what is shown
 * follows the server. With one, it stays, and a save that comes after that of another administrator
 * is refused: the draft is kept, and the next save is a change of what the other one saved.
 */
import type { QueryKey } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  patchSettings,
  type SeenSettings,
  type Settings,
  settingsQuery,
} from "@/api/queries/settings";
import { useApiMutation } from "@/api/use-api-mutation";
import { adminStrings as t } from "@/i18n/en/admin";
import { showToast } from "@/ui/toast";
import { type Difference, differences } from "./differences";
import { SETTING_WORDS } from "./setting-words";

/** Null: as the server's own settings say. */
export type EditedSettings = { readonly [K in keyof Settings]: Settings[K] | null };
export type SettingsEdits = Partial<EditedSettings>;

export function useSettingsDraft(latest: SeenSettings, invalidates: readonly QueryKey[]) {
  const client = useQueryClient();
  const [base, setBase] = useState(latest);
  const [edits, setEdits] = useState<SettingsEdits>({});
  const [found, setFound] = useState<readonly Difference[]>([]);
  const isEdited = Object.keys(edits).length > 0;
  if (!isEdited && base !== latest) setBase(latest);

  const save = useApiMutation({
    request: (sent: SettingsEdits) => patchSettings(sent, base.etag),
    invalidates,
    onSuccess: (saved, sent) => {
      client.setQueryData(settingsQuery.queryKey, saved);
      setBase(saved);
      setFound([]);
      setEdits((now) => without(now, sent));
      showToast(t.saved);
    },
    onConflict: async () => {
      const there = await client.fetchQuery({ ...settingsQuery, staleTime: 0 });
      setFound(differences(base.values, there.values, SETTING_WORDS));
      setBase(there);
      // What is now as the draft has it is no draft any more.
      setEdits((now) => without(now, there.values));
    },
  });
  const edit = <K extends keyof Settings>(name: K, value: EditedSettings[K]) =>
    setEdits((now) => without({ ...now, [name]: value }, base.values));
  const values: EditedSettings = { ...base.values, ...edits };
  return { base: base.values, values, edits, isEdited, edit, save, found };
}

function without(edits: SettingsEdits, values: SettingsEdits): SettingsEdits {
  const left = Object.entries(edits).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(values[name as keyof Settings]),
  );
  return Object.fromEntries(left);
}
