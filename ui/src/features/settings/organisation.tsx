import { unwrap } from "@holdfast/client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { modelsQuery } from "@/api/queries/models";
import { type Settings, settingsQuery } from "@/api/queries/settings";
import { useApiMutation } from "@/api/use-api-mutation";
import { commonStrings } from "@/i18n/en/common";
import { settingsStrings } from "@/i18n/en/settings";
import { cn } from "@/lib/classes";
import { Form } from "@/ui/form";
import { FormField, inputStyle, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";
import { Textarea } from "@/ui/textarea";
import { showToast } from "@/ui/toast";
import { QueryResult } from "./query-result";
import { Section } from "./section";

const t = settingsStrings;

export function Organisation() {
  const query = useQuery(settingsQuery);
  return (
    <Section title={t.sections.organization} hint={t.organisationHint}>
      <QueryResult query={query}>{(values) => <OrganisationForm values={values} />}</QueryResult>
    </Section>
  );
}

function OrganisationForm({ values }: { values: Settings }) {
  const models = useQuery(modelsQuery).data?.models ?? [];
  const [model, setModel] = useState(values.default_model ?? "");
  const [instructions, setInstructions] = useState(values.instructions);
  const [web, setWeb] = useState(values.web_tools_enabled ? "yes" : "no");
  const [steps, setSteps] = useState(values.max_steps_per_turn?.toString() ?? "");

  const change = useApiMutation({
    request: () =>
      unwrap(
        api.PATCH("/api/v1/organization/settings", {
          body: {
            default_model: model === "" ? null : model,
            instructions,
            max_steps_per_turn: steps === "" ? null : Number(steps),
            web_tools_enabled: web === "yes",
          },
        }),
      ),
    invalidates: [settingsQuery.queryKey, modelsQuery.queryKey],
    onSuccess: () => showToast(t.saved),
  });
  const choices = [["", t.serverModel], ...models.map((each) => [each, each])] as [
    string,
    string,
  ][];
  return (
    <Form
      submission={change}
      onSubmit={() => change.run(undefined)}
      submitLabel={commonStrings.save}
      fields={["/default_model", "/max_steps_per_turn", "/web_tools_enabled", "/instructions"]}
      layout="column"
    >
      <div className="flex flex-wrap gap-3">
        <FormField label={t.model} error={change.fieldErrors["/default_model"]} className="w-64">
          {(control) => <Select {...control} value={model} options={choices} onChange={setModel} />}
        </FormField>
        <TextField
          label={t.stepsMax}
          type="number"
          min={1}
          error={change.fieldErrors["/max_steps_per_turn"]}
          value={steps}
          onChange={(event) => setSteps(event.target.value)}
          className="w-48"
        />
        <FormField label={t.web} error={change.fieldErrors["/web_tools_enabled"]} className="w-48">
          {(control) => (
            <Select
              {...control}
              value={web}
              options={[
                ["yes", t.webAllowed],
                ["no", t.webForbidden],
              ]}
              onChange={setWeb}
            />
          )}
        </FormField>
      </div>
      <FormField
        label={t.instructions}
        hint={t.instructionsHint}
        error={change.fieldErrors["/instructions"]}
      >
        {(control) => (
          <Textarea
            {...control}
            rows={4}
            value={instructions}
            onChange={(event) => setInstructions(event.target.value)}
            className={cn(inputStyle, "h-auto max-h-[50dvh] min-h-24 py-2 coarse:h-auto")}
          />
        )}
      </FormField>
    </Form>
  );
}
