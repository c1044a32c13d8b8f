import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { api, asked, sentenceOf } from "@/api/client";
import type { components } from "@/api/schema.gen";
import { modelsQuery, queries } from "@/app/me";
import { Button } from "@/kit/button";
import { Field, inputLook } from "@/kit/field";
import { say } from "@/kit/toast";
import { words } from "@/words";
import { Loaded } from "./loaded";
import { Section } from "./section";

type Values = components["schemas"]["Settings"];
const says = words.settings;
const KEY = ["settings"];

export function Organisation() {
  const query = useQuery({ queryKey: KEY, queryFn: () => asked(api.GET("/api/v1/settings")) });
  return (
    <Section title={says.organisation} hint={says.organisationHint}>
      <Loaded query={query}>{(values) => <Form values={values} />}</Loaded>
    </Section>
  );
}

function Form({ values }: { values: Values }) {
  const models = useQuery(modelsQuery).data?.models ?? [];
  const [model, setModel] = useState(values.default_model ?? "");
  const [instructions, setInstructions] = useState(values.instructions);
  const [steps, setSteps] = useState(values.steps_max?.toString() ?? "");
  const id = useId();

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    const body = {
      ...values,
      default_model: model === "" ? null : model,
      instructions,
      steps_max: steps === "" ? null : Number(steps),
    };
    try {
      queries.setQueryData(KEY, await asked(api.PUT("/api/v1/settings", { body })));
      await queries.invalidateQueries({ queryKey: modelsQuery.queryKey });
      say(says.saved);
    } catch (error) {
      say(sentenceOf(error), "danger");
    }
  }

  return (
    <form onSubmit={save} className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-3">
        <div className="flex w-64 flex-col gap-1">
          <label htmlFor={`${id}-model`} className="font-medium text-meta text-muted">
            {says.model}
          </label>
          <select
            id={`${id}-model`}
            value={model}
            onChange={(event) => setModel(event.target.value)}
            className={inputLook}
          >
            <option value="">{says.system}</option>
            {models.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </div>
        <Field
          label={says.stepsMax}
          type="number"
          min={1}
          value={steps}
          onChange={(event) => setSteps(event.target.value)}
          className="w-48"
        />
      </div>
      <div className="flex flex-col gap-1">
        <label htmlFor={`${id}-instructions`} className="font-medium text-meta text-muted">
          {says.instructions}
        </label>
        <textarea
          id={`${id}-instructions`}
          rows={4}
          value={instructions}
          onChange={(event) => setInstructions(event.target.value)}
          className="w-full rounded-control border border-line-strong bg-raised p-2.5 text-ui"
        />
        <p className="text-faint text-meta">{says.instructionsHint}</p>
      </div>
      <Button type="submit" className="self-start">
        {words.save}
      </Button>
    </form>
  );
}
