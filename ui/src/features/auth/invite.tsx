/** The link of an administrator: `#invite=TOKEN`. Who opens it sets a password and is signed in. */
import { unwrap } from "@holdfast/client";
import { useState } from "react";
import { api, BASE } from "@/api/client";
import { useApiMutation } from "@/api/use-api-mutation";
import { adminStrings as t } from "@/i18n/en/admin";
import { Form } from "@/ui/form";
import { TextField } from "@/ui/form-field";
import { forgetMe } from "./session";

export function SetPassword({ token, onDone }: { token: string; onDone: () => void }) {
  const [password, setPassword] = useState("");
  const set = useApiMutation({
    request: () =>
      unwrap(api.POST("/api/v1/sessions/by-account-link", { body: { token, password } })),
    onSuccess: () => {
      forgetMe();
      onDone();
    },
  });
  return (
    <main className="relative flex h-full items-center justify-center overflow-auto p-4">
      <div className="w-full max-w-80">
        <img src={`${BASE}icon.svg`} alt="" className="mb-4 size-9" />
        <h1 className="font-semibold text-title">{t.setPassword}</h1>
        <p className="mb-4 text-muted text-ui">{t.setPasswordHint}</p>
        <Form
          submission={set}
          onSubmit={() => set.run(undefined)}
          submitLabel={t.setAndSignIn}
          fields={["/password"]}
          layout="column"
        >
          <TextField
            label={t.newPassword}
            type="password"
            autoComplete="new-password"
            required
            error={set.fieldErrors["/password"]}
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Form>
      </div>
    </main>
  );
}
