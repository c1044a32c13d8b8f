import { type FormEvent, useState } from "react";
import { api, asked, sentenceOf } from "@/api/client";
import type { Me } from "@/app/me";
import { Button } from "@/kit/button";
import { Field } from "@/kit/field";
import { say } from "@/kit/toast";
import { words } from "@/words";
import { Section } from "./section";

const says = words.settings;

export function Account({ me }: { me: Me }) {
  return (
    <Section title={says.account}>
      <p className="text-ui">
        {me.user.name} <span className="text-muted">{me.user.email}</span>{" "}
        <span className="text-faint">· {me.user.role}</span>
      </p>
      {me.user.has_password && me.credential === "sign_in" && <ChangePassword />}
    </Section>
  );
}

function ChangePassword() {
  const [current, setCurrent] = useState("");
  const [wanted, setWanted] = useState("");
  const [why, setWhy] = useState<string | null>(null);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setWhy(null);
    try {
      await asked(api.POST("/api/v1/me/password", { body: { current, new: wanted } }));
      setCurrent("");
      setWanted("");
      say(says.passwordChanged);
    } catch (error) {
      setWhy(sentenceOf(error));
    }
  }

  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-3">
      <Field
        label={says.currentPassword}
        type="password"
        autoComplete="current-password"
        required
        value={current}
        onChange={(event) => setCurrent(event.target.value)}
        className="w-56"
      />
      <Field
        label={says.newPassword}
        type="password"
        autoComplete="new-password"
        required
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
        className="w-56"
      />
      <Button type="submit" className="h-9">
        {says.changePassword}
      </Button>
      {why !== null && (
        <p role="alert" className="w-full text-danger">
          {why}
        </p>
      )}
    </form>
  );
}
