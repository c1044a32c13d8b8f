/** Replaces the key of a provider. */
import { unwrap } from "@holdfast/client";
import type { QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import type { Provider } from "@/api/queries/admin";
import { ifMatch } from "@/api/queries/settings";
import { useApiMutation } from "@/api/use-api-mutation";
import { adminStrings as t } from "@/i18n/en/admin";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Form } from "@/ui/form";
import { TextField } from "@/ui/form-field";
import { showToast } from "@/ui/toast";
import { ConflictNotice } from "./conflict-notice";
import type { Difference } from "./differences";
import { useProviderConflict } from "./use-row-conflict";

export function KeyDialog({
  provider,
  changes,
}: {
  provider: Provider;
  changes: readonly QueryKey[];
}) {
  const [open, setOpen] = useState(false);
  const [key, setKey] = useState("");
  const [found, setFound] = useState<readonly Difference[]>([]);
  const conflict = useProviderConflict(provider);
  const show = (shown: boolean) => {
    setKey("");
    setFound([]);
    setOpen(shown);
  };
  const change = useApiMutation({
    request: () =>
      unwrap(
        api.PATCH("/api/v1/organization/providers/{provider_id}", {
          params: { path: { provider_id: provider.id }, header: ifMatch(provider.etag) },
          body: { key, settings: {} },
        }),
      ),
    invalidates: changes,
    onSuccess: () => {
      show(false);
      showToast(t.keyReplaced);
    },
    onConflict: async () => setFound((await conflict.look()) ?? []),
  });
  return (
    <>
      <Button size="small" aria-label={t.replaceKeyOf(provider.name)} onClick={() => show(true)}>
        {t.replaceKey}
      </Button>
      <Dialog open={open} onOpenChange={show} title={t.replaceKeyOf(provider.name)}>
        <Form
          submission={found.length > 0 ? { ...change, error: null } : change}
          onSubmit={() => change.run(undefined)}
          submitLabel={t.replaceKey}
          fields={["/key"]}
          layout="column"
        >
          <TextField
            label={t.newKey}
            type="password"
            autoComplete="off"
            required
            hint={t.keyHint}
            error={change.fieldErrors["/key"]}
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
          {found.length > 0 && <ConflictNotice found={found} />}
        </Form>
      </Dialog>
    </>
  );
}
