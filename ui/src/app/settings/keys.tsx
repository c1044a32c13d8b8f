import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, asked, keyed, sentenceOf } from "@/api/client";
import type { components } from "@/api/schema.gen";
import { queries } from "@/app/me";
import { Button } from "@/kit/button";
import { copy } from "@/kit/copy";
import { Field } from "@/kit/field";
import { Blank } from "@/kit/state";
import { Cell, Line, Table } from "@/kit/table";
import { say } from "@/kit/toast";
import { words } from "@/words";
import { Loaded } from "./loaded";
import { Section } from "./section";

type Key = components["schemas"]["Key"];
const says = words.settings;
const KEYS = ["keys"];

export function Keys() {
  const query = useQuery({ queryKey: KEYS, queryFn: () => asked(api.GET("/api/v1/keys")) });
  return (
    <Section title={says.keys} hint={says.keysHint}>
      <NewKey />
      <Loaded query={query}>
        {({ keys }) =>
          keys.length === 0 ? (
            <Blank title={says.noKeys} />
          ) : (
            <Table label={says.keys} heads={[says.name, says.scopes, says.made, says.used, ""]}>
              {keys.map((key) => (
                <KeyLine key={key.key_id} of={key} />
              ))}
            </Table>
          )
        }
      </Loaded>
    </Section>
  );
}

function KeyLine({ of: key }: { of: Key }) {
  async function revoke(): Promise<void> {
    try {
      await asked(
        api.DELETE("/api/v1/keys/{key_id}", { params: { path: { key_id: key.key_id } } }),
      );
      await queries.invalidateQueries({ queryKey: KEYS });
    } catch (error) {
      say(sentenceOf(error), "danger");
    }
  }
  return (
    <Line>
      <Cell>
        {key.name} <span className="font-mono text-code text-faint">{key.prefix}…</span>
      </Cell>
      <Cell>{key.scopes.join(", ")}</Cell>
      <Cell>{new Date(key.created_at).toLocaleDateString()}</Cell>
      <Cell>
        {key.last_used_at === null ? says.never : new Date(key.last_used_at).toLocaleDateString()}
      </Cell>
      <Cell end>
        {key.revoked_at === null ? (
          <Button size="small" aria-label={`${says.revoke} ${key.name}`} onClick={revoke}>
            {says.revoke}
          </Button>
        ) : (
          <span className="text-faint">{says.revoked}</span>
        )}
      </Cell>
    </Line>
  );
}

function NewKey() {
  const [name, setName] = useState("");
  const [secret, setSecret] = useState<string | null>(null);

  async function make(event: FormEvent): Promise<void> {
    event.preventDefault();
    try {
      const params = { header: keyed() };
      const body = { name, scopes: ["read" as const, "write" as const] };
      const made = await asked(api.POST("/api/v1/keys", { params, body }));
      setSecret(made.secret);
      setName("");
      await queries.invalidateQueries({ queryKey: KEYS });
    } catch (error) {
      say(sentenceOf(error), "danger");
    }
  }

  return (
    <>
      <form onSubmit={make} className="flex flex-wrap items-end gap-3">
        <Field
          label={says.keyName}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
          className="w-64"
        />
        <Button type="submit" className="h-9">
          {says.make}
        </Button>
      </form>
      {secret !== null && (
        <div role="status" className="rounded-card border border-ok p-3">
          <p className="mb-2 text-ui">{says.secret}</p>
          <div className="flex items-center gap-2">
            <code className="min-w-0 flex-1 font-mono text-code break-all select-all">
              {secret}
            </code>
            <Button
              size="small"
              onClick={async () => say((await copy(secret)) ? says.copied : says.copyFailed)}
            >
              {says.copy}
            </Button>
          </div>
        </div>
      )}
    </>
  );
}
