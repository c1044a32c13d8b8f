/** Approval rules: those of the organisation to edit, those of the server to read, and a call to try. */
import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { approvalsQuery, type Tried } from "@/api/queries/admin";
import { type SeenSettings, settingsQuery } from "@/api/queries/settings";
import { type ApiMutation, useApiMutation } from "@/api/use-api-mutation";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { cn } from "@/lib/classes";
import { Button } from "@/ui/button";
import { Form } from "@/ui/form";
import { FormField, inputStyle, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";
import { Textarea } from "@/ui/textarea";
import { ConflictNotice } from "./conflict-notice";
import { ACTIONS, RuleEditor } from "./rule-editor";
import {
  draftOf,
  isSame,
  moved,
  newRule,
  type PolicyDraft,
  policyOf,
  type RuleAction,
  type RuleDraft,
} from "./rules-draft";
import { type SettingsEdits, useSettingsDraft } from "./use-settings-draft";

const CHANGED = [approvalsQuery.queryKey, settingsQuery.queryKey];

export function Rules() {
  const server = useQuery(approvalsQuery);
  const settings = useQuery(settingsQuery);
  return (
    <Section title={t.sections.rules} hint={t.rulesHint}>
      <QueryResult query={server}>
        {(policies) => (
          <QueryResult query={settings}>
            {(latest) => <Editor server={draftOf(policies.server)} latest={latest} />}
          </QueryResult>
        )}
      </QueryResult>
    </Section>
  );
}

function Editor({ server, latest }: { server: PolicyDraft; latest: SeenSettings }) {
  const settings = useSettingsDraft(latest, CHANGED);
  const { isEdited, edit, save, found } = settings;
  const saved = settings.base.approvals;
  const [draft, setDraft] = useState(() => draftOf(saved));
  // Rows keep their keys while they are edited; rules that came from elsewhere are other rows.
  if (!isEdited && !isSame(draft, draftOf(saved))) setDraft(draftOf(saved));
  const change = (next: PolicyDraft) => {
    setDraft(next);
    const isAsSaved = isSame(next, draftOf(settings.base.approvals));
    edit("approvals", isAsSaved ? settings.base.approvals : policyOf(next));
  };
  return (
    <div className="flex flex-col gap-6">
      <OwnRules draft={draft} isEdited={isEdited} save={save} onChange={change}>
        {found.length > 0 && (
          <ConflictNotice found={found}>
            <h4 className="mt-2 font-medium text-meta text-muted">{t.theirRules}</h4>
            <PolicyList policy={draftOf(settings.base.approvals)} />
          </ConflictNotice>
        )}
      </OwnRules>
      <TryOut draft={draft} />
      <ServerRules policy={server} />
    </div>
  );
}

interface OwnRulesProps {
  readonly draft: PolicyDraft;
  readonly isEdited: boolean;
  readonly save: ApiMutation<SettingsEdits>;
  readonly onChange: (draft: PolicyDraft) => void;
  /** What another administrator saved. */
  readonly children: ReactNode;
}

function OwnRules({ draft, isEdited, save, onChange, children }: OwnRulesProps) {
  const setRules = (rules: readonly RuleDraft[]) => onChange({ ...draft, rules });
  return (
    <div>
      <h3 className="mb-2 font-medium text-meta text-muted">{t.ownRules}</h3>
      <Form
        submission={children ? { ...save, error: null } : save}
        onSubmit={() => save.run({ approvals: policyOf(draft) })}
        submitLabel={t.saveRules}
        fields={[]}
        layout="column"
      >
        {draft.rules.length === 0 ? (
          <p className="text-muted text-ui">{t.noRules}</p>
        ) : (
          <ol className="flex flex-col gap-3">
            {draft.rules.map((rule, index) => (
              <RuleEditor
                key={rule.key}
                rule={rule}
                number={index + 1}
                isLast={index === draft.rules.length - 1}
                onChange={(next) =>
                  setRules(draft.rules.map((each) => (each.key === rule.key ? next : each)))
                }
                onMove={(by) => setRules(moved(draft.rules, index, by))}
                onRemove={() => setRules(draft.rules.filter((each) => each.key !== rule.key))}
              />
            ))}
          </ol>
        )}
        <Button className="self-start" onClick={() => setRules([...draft.rules, newRule()])}>
          {t.addRule}
        </Button>
        <FormField label={t.otherwise} className="w-56">
          {(control) => (
            <Select
              {...control}
              value={draft.otherwise}
              options={ACTIONS}
              onChange={(otherwise) => onChange({ ...draft, otherwise: otherwise as RuleAction })}
            />
          )}
        </FormField>
        {children}
        {isEdited && <p className="text-meta text-warn">{t.unsaved}</p>}
      </Form>
    </div>
  );
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function TryOut({ draft }: { draft: PolicyDraft }) {
  const [tool, setTool] = useState("execute");
  const [text, setText] = useState('{"command": "git push"}');
  const [tried, setTried] = useState<Tried | null>(null);
  const parsed = parse(text);
  const ask = useApiMutation({
    request: () =>
      unwrap(
        api.POST("/api/v1/organization/approvals/try", {
          body: { tool: tool.trim(), arguments: parsed ?? {}, approvals: policyOf(draft) },
        }),
      ),
    onSuccess: setTried,
  });
  const submit = () => {
    setTried(null);
    if (parsed !== null) ask.run(undefined);
  };
  return (
    <section aria-label={t.tryTitle}>
      <h3 className="font-medium text-meta text-muted">{t.tryTitle}</h3>
      <p className="mb-2 text-meta text-muted">{t.tryHint}</p>
      <Form
        submission={ask}
        onSubmit={submit}
        submitLabel={t.tryIt}
        fields={["/tool"]}
        layout="column"
      >
        <TextField
          label={t.tryTool}
          required
          autoComplete="off"
          error={ask.fieldErrors["/tool"]}
          value={tool}
          onChange={(event) => setTool(event.target.value)}
        />
        <FormField label={t.tryArguments} error={parsed === null ? t.notJson : undefined}>
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
              className={cn(inputStyle, "h-auto min-h-16 py-2 font-mono text-code coarse:h-auto")}
            />
          )}
        </FormField>
      </Form>
      <div role="status" className="mt-3">
        {tried !== null && <Verdict tried={tried} />}
      </div>
    </section>
  );
}

const TONE: Readonly<Record<RuleAction, string>> = {
  allow: "text-ok",
  ask: "text-warn",
  deny: "text-danger",
};

function Verdict({ tried }: { tried: Tried }) {
  return (
    <div className="rounded-card border border-line p-3 text-ui">
      <p className={cn("font-medium", TONE[tried.action])}>{t.decides[tried.action]}</p>
      <ul className="mt-1 flex flex-col gap-1 text-muted">
        {tried.judgements.map((each) => {
          const source = t.sources[each.source];
          return (
            <li key={each.source}>
              {each.rule_number === null ? t.byDefault(source) : t.byRule(source, each.rule_number)}
              {": "}
              {t.actions[each.action]}
              {each.source === tried.decided_by && ` (${t.decisive})`}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function ServerRules({ policy }: { policy: PolicyDraft }) {
  return (
    <div>
      <h3 className="font-medium text-meta text-muted">{t.serverRules}</h3>
      <p className="mb-2 text-meta text-muted">{t.serverRulesHint}</p>
      <PolicyList policy={policy} />
    </div>
  );
}

function PolicyList({ policy }: { policy: PolicyDraft }) {
  return (
    <ol className="flex flex-col gap-1 rounded-card border border-line px-3 py-2 text-ui">
      {policy.rules.map((rule, index) => (
        <li key={rule.key} className="[overflow-wrap:anywhere]">
          {t.rule(index + 1)}: <span className="font-mono text-code">{rule.tool}</span>
          {rule.args.map((each) => (
            <span key={each.key} className="font-mono text-code text-muted">
              {" "}
              {each.name} {each.text}
            </span>
          ))}{" "}
          → {t.actions[rule.action]}
        </li>
      ))}
      <li>
        {t.otherwise}: {t.actions[policy.otherwise]}
      </li>
    </ol>
  );
}
