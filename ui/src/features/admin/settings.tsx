/** What is set for the whole organisation. */
import { useQuery } from "@tanstack/react-query";
import { modelsQuery } from "@/api/queries/models";
import { type SeenSettings, settingsQuery } from "@/api/queries/settings";
import { QueryResult } from "@/features/settings/query-result";
import { Section } from "@/features/settings/section";
import { adminStrings as t } from "@/i18n/en/admin";
import { commonStrings } from "@/i18n/en/common";
import { cn } from "@/lib/classes";
import { Form } from "@/ui/form";
import { FormField, inputStyle, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";
import { Textarea } from "@/ui/textarea";
import { ConflictNotice } from "./conflict-notice";
import { type EditedSettings, useSettingsDraft } from "./use-settings-draft";

const CHANGED = [settingsQuery.queryKey, modelsQuery.queryKey];

const ON_OFF = [
  ["yes", t.on],
  ["no", t.off],
] as const;

const EFFORTS = [
  ["", t.advisor.asTheChat],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
] as [string, string][];

const EFFORT_NAMES = ["low", "medium", "high"] as const;

const YES_NO = [
  ["yes", t.allowed],
  ["no", t.forbidden],
] as const;

export function OrganisationSettings() {
  const query = useQuery(settingsQuery);
  return (
    <Section title={t.sections.settings} hint={t.settingsHint}>
      <QueryResult query={query}>{(latest) => <SettingsForm latest={latest} />}</QueryResult>
    </Section>
  );
}

function SettingsForm({ latest }: { latest: SeenSettings }) {
  const models = useQuery(modelsQuery).data?.models ?? [];
  const { values, edits, edit, save, found } = useSettingsDraft(latest, CHANGED);
  const choices = [["", t.serverModel], ...models.map((each) => [each, each])] as [
    string,
    string,
  ][];
  const errors = save.fieldErrors;
  return (
    <Form
      submission={found.length > 0 ? { ...save, error: null } : save}
      onSubmit={() => save.run(edits)}
      submitLabel={commonStrings.save}
      fields={[
        "/default_model",
        "/max_steps_per_turn",
        "/web_tools_enabled",
        "/oidc_sign_up_enabled",
        "/api_key_days_max",
        "/instructions",
        ...ADVISOR_FIELDS,
      ]}
      layout="column"
    >
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <FormField label={t.model} error={errors["/default_model"]}>
          {(control) => (
            <Select
              {...control}
              value={values.default_model ?? ""}
              options={choices}
              onChange={(name) => edit("default_model", name === "" ? null : name)}
            />
          )}
        </FormField>
        <TextField
          label={t.stepsMax}
          type="number"
          min={1}
          error={errors["/max_steps_per_turn"]}
          value={values.max_steps_per_turn?.toString() ?? ""}
          onChange={({ target }) =>
            edit("max_steps_per_turn", target.value === "" ? null : Number(target.value))
          }
        />
        <FormField label={t.web} error={errors["/web_tools_enabled"]}>
          {(control) => (
            <Select
              {...control}
              value={values.web_tools_enabled ? "yes" : "no"}
              options={YES_NO}
              onChange={(answer) => edit("web_tools_enabled", answer === "yes")}
            />
          )}
        </FormField>
        <FormField label={t.signUp} error={errors["/oidc_sign_up_enabled"]}>
          {(control) => (
            <Select
              {...control}
              value={values.oidc_sign_up_enabled ? "yes" : "no"}
              options={YES_NO}
              onChange={(answer) => edit("oidc_sign_up_enabled", answer === "yes")}
            />
          )}
        </FormField>
        <TextField
          label={t.keyDaysMax}
          type="number"
          min={0}
          error={errors["/api_key_days_max"]}
          value={values.api_key_days_max?.toString() ?? ""}
          onChange={({ target }) =>
            edit("api_key_days_max", target.value === "" ? null : Number(target.value))
          }
        />
      </div>
      <AdvisorFields values={values} edit={edit} models={models} errors={errors} />
      <FormField label={t.instructions} hint={t.instructionsHint} error={errors["/instructions"]}>
        {(control) => (
          <Textarea
            {...control}
            rows={6}
            value={values.instructions ?? ""}
            onChange={(event) => edit("instructions", event.target.value)}
            className={cn(inputStyle, "h-auto max-h-[50dvh] min-h-24 py-2 coarse:h-auto")}
          />
        )}
      </FormField>
      {found.length > 0 && <ConflictNotice found={found} />}
    </Form>
  );
}

const ADVISOR_FIELDS = [
  "/advisor_enabled",
  "/advisor_model",
  "/advisor_effort",
  "/advisor_uses_max",
  "/advisor_output_max",
];

interface AdvisorFieldsProps {
  values: EditedSettings;
  edit: <K extends keyof EditedSettings>(name: K, value: EditedSettings[K]) => void;
  models: readonly string[];
  errors: Readonly<Record<string, string>>;
}

function AdvisorFields({ values, edit, models, errors }: AdvisorFieldsProps) {
  const numberOf = (text: string) => (text === "" ? null : Number(text));
  const choices = [["", t.advisor.chatModel], ...models.map((each) => [each, each])] as [
    string,
    string,
  ][];
  return (
    <fieldset className="grid grid-cols-1 gap-3 sm:grid-cols-2">
      <legend className="mb-2 text-meta text-muted">{t.advisor.legend}</legend>
      <FormField label={t.advisor.enabled} error={errors["/advisor_enabled"]}>
        {(control) => (
          <Select
            {...control}
            value={values.advisor_enabled ? "yes" : "no"}
            options={ON_OFF}
            onChange={(answer) => edit("advisor_enabled", answer === "yes")}
          />
        )}
      </FormField>
      <FormField label={t.advisor.model} error={errors["/advisor_model"]}>
        {(control) => (
          <Select
            {...control}
            value={values.advisor_model ?? ""}
            options={choices}
            onChange={(name) => edit("advisor_model", name === "" ? null : name)}
          />
        )}
      </FormField>
      <TextField
        label={t.advisor.uses}
        type="number"
        min={0}
        error={errors["/advisor_uses_max"]}
        value={values.advisor_uses_max?.toString() ?? ""}
        onChange={(event) => edit("advisor_uses_max", numberOf(event.target.value))}
      />
      <TextField
        label={t.advisor.output}
        type="number"
        min={256}
        error={errors["/advisor_output_max"]}
        value={values.advisor_output_max?.toString() ?? ""}
        onChange={(event) => edit("advisor_output_max", numberOf(event.target.value))}
      />
      <FormField label={t.advisor.effort} error={errors["/advisor_effort"]}>
        {(control) => (
          <Select
            {...control}
            value={values.advisor_effort ?? ""}
            options={EFFORTS}
            onChange={(name) =>
              edit("advisor_effort", EFFORT_NAMES.find((each) => each === name) ?? null)
            }
          />
        )}
      </FormField>
    </fieldset>
  );
}
