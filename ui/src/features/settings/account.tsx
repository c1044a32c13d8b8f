import { unwrap } from "@holdfast/client";
import { useState } from "react";
import { api } from "@/api/client";
import type { Me } from "@/api/queries/me";
import { useApiMutation } from "@/api/use-api-mutation";
import { settingsStrings as t } from "@/i18n/en/settings";
import { Form } from "@/ui/form";
import { TextField } from "@/ui/form-field";
import { showToast } from "@/ui/toast";
import { Section } from "./section";

export function Account({ me }: { me: Me }) {
  return (
    <Section title={t.sections.account}>
      <p className="text-ui">
        {me.user.name} <span className="text-muted">{me.user.email}</span>{" "}
        <span className="text-faint">· {t.roles[me.user.role]}</span>
      </p>
      {me.user.has_password && me.credential_type === "session" && <ChangePassword />}
    </Section>
  );
}

function ChangePassword() {
  const [current, setCurrent] = useState("");
  const [wanted, setWanted] = useState("");
  const change = useApiMutation({
    request: () => unwrap(api.POST("/api/v1/me/password", { body: { current, new: wanted } })),
    onSuccess: () => {
      setCurrent("");
      setWanted("");
      showToast(t.passwordChanged);
    },
  });
  return (
    <Form
      submission={change}
      onSubmit={() => change.run(undefined)}
      submitLabel={t.changePassword}
      fields={["/current", "/new"]}
    >
      <TextField
        label={t.currentPassword}
        type="password"
        autoComplete="current-password"
        required
        error={change.fieldErrors["/current"]}
        value={current}
        onChange={(event) => setCurrent(event.target.value)}
        className="w-56"
      />
      <TextField
        label={t.newPassword}
        type="password"
        autoComplete="new-password"
        required
        error={change.fieldErrors["/new"]}
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
        className="w-56"
      />
    </Form>
  );
}
