import { ApiError, errorMessage, unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, BASE } from "@/api/client";
import { providersQuery } from "@/api/queries/me";
import { commonStrings } from "@/i18n/en/common";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/form-field";
import { forgetMe } from "./session";

const t = commonStrings.signIn;

/** Shown in the place of whatever was asked for, which then follows. */
export function SignIn({ why: before = null }: { why?: string | null }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [why, setWhy] = useState(before);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setWhy(null);
    try {
      await unwrap(api.POST("/api/v1/sessions", { body: { email, password } }));
      forgetMe();
    } catch (error) {
      const wrong = error instanceof ApiError && error.code === "invalid_credentials";
      setWhy(wrong ? t.wrong : errorMessage(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <main className="relative flex h-full items-center justify-center overflow-auto p-4">
      <div className="w-full max-w-80">
        <img src={`${BASE}icon.svg`} alt="" className="mb-4 size-9" />
        <h1 className="mb-4 font-semibold text-title">{t.title}</h1>
        {!window.isSecureContext && (
          <p role="alert" className="mb-4 rounded-card border border-warn p-3 text-ui">
            {t.insecure}
          </p>
        )}
        <form onSubmit={submit} className="flex flex-col gap-3">
          <TextField
            label={t.email}
            type="email"
            name="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <TextField
            label={t.password}
            type="password"
            name="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          {why !== null && (
            <p role="alert" className="text-danger text-ui">
              {why}
            </p>
          )}
          <Button type="submit" variant="accent" size="large" disabled={busy}>
            {busy ? t.busy : t.submit}
          </Button>
        </form>
        <Providers />
      </div>
    </main>
  );
}

/** Ways to log in that others vouch for, if there are any. */
function Providers() {
  const { data } = useQuery(providersQuery);
  if (data === undefined || data.data.length === 0) return null;
  const back = encodeURIComponent(location.pathname + location.search);
  return (
    <>
      <p className="my-3 text-center text-faint text-meta">{t.or}</p>
      <div className="flex flex-col gap-2">
        {data.data.map((provider) => (
          <a
            key={provider.name}
            href={`${BASE}${provider.start.replace(/^\//, "")}?return_to=${back}`}
            className="flex h-10 items-center justify-center rounded-control border border-line-strong bg-raised font-medium hover:bg-hover"
          >
            {t.with(provider.title)}
          </a>
        ))}
      </div>
    </>
  );
}
