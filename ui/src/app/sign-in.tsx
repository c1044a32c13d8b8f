import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, asked, BASE, Problem, sentenceOf } from "@/api/client";
import { Button } from "@/kit/button";
import { Field } from "@/kit/field";
import { words } from "@/words";
import { forgetMe } from "./me";

const says = words.signIn;

/** Shown in the place of whatever was asked for, which then follows. */
export function SignIn() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [why, setWhy] = useState<string | null>(null);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setWhy(null);
    try {
      await asked(api.POST("/api/v1/sign-ins", { body: { email, password } }));
      forgetMe();
    } catch (error) {
      const wrong = error instanceof Problem && error.code === "wrong_credentials";
      setWhy(wrong ? says.wrong : sentenceOf(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <main className="flex h-full items-center justify-center overflow-auto p-4">
      <div className="w-full max-w-80">
        <img src={`${BASE}icon.svg`} alt="" className="mb-4 size-9" />
        <h1 className="mb-4 font-semibold text-title">{says.title}</h1>
        {!window.isSecureContext && (
          <p role="alert" className="mb-4 rounded-card border border-warn p-3 text-ui">
            {says.insecure}
          </p>
        )}
        <form onSubmit={submit} className="flex flex-col gap-3">
          <Field
            label={says.email}
            type="email"
            name="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <Field
            label={says.password}
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
          <Button type="submit" look="accent" size="large" disabled={busy}>
            {busy ? says.busy : says.submit}
          </Button>
        </form>
        <Providers />
      </div>
    </main>
  );
}

/** Ways to log in that others vouch for, if there are any. */
function Providers() {
  const { data } = useQuery({
    queryKey: ["oidc"],
    queryFn: () => asked(api.GET("/api/v1/oidc")),
  });
  if (data === undefined || data.providers.length === 0) return null;
  const back = encodeURIComponent(location.pathname + location.search);
  return (
    <>
      <p className="my-3 text-center text-faint text-meta">{says.or}</p>
      <div className="flex flex-col gap-2">
        {data.providers.map((provider) => (
          <a
            key={provider.name}
            href={`${BASE}${provider.start.replace(/^\//, "")}?return_to=${back}`}
            className="flex h-10 items-center justify-center rounded-control border border-line-strong bg-raised font-medium hover:bg-hover"
          >
            {says.with(provider.title)}
          </a>
        ))}
      </div>
    </>
  );
}
