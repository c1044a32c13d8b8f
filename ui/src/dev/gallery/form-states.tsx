import { useState } from "react";
import { AlertDialog } from "@/ui/alert-dialog";
import { Button } from "@/ui/button";
import { Checkbox } from "@/ui/checkbox";
import { DataTable } from "@/ui/data-table";
import { Form } from "@/ui/form";
import { FormField, inputStyle, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";
import { Switch } from "@/ui/switch";
import { Textarea } from "@/ui/textarea";
import { Group, State } from "./frame";

const IDLE = { isPending: false, error: null, fieldErrors: {} };
const PENDING = { ...IDLE, isPending: true };
const REFUSED = {
  ...IDLE,
  error: "The request is not valid.",
  fieldErrors: { "/email": "This e-mail belongs to another user." },
};
const FAILED = { ...IDLE, error: "The server does not answer. Try again." };
const MODELS = [
  ["", "The server's default"],
  ["sim-large", "sim-large"],
] as const;
const USERS = ["Ada Lovelace", "Grace Hopper", "Edsger Dijkstra"];

export function FormStates() {
  const nothing = () => {};
  return (
    <Group title="Forms">
      <State name="A form">
        <Form submission={IDLE} onSubmit={nothing} submitLabel="Add user" fields={["/email"]}>
          <TextField label="Name" className="w-44" />
          <TextField label="E-mail" hint="For signing in" className="w-56" />
        </Form>
      </State>
      <State name="A form that is being sent">
        <Form submission={PENDING} onSubmit={nothing} submitLabel="Add user" fields={["/email"]}>
          <TextField label="Name" className="w-44" />
        </Form>
      </State>
      <State name="A field that the server refused">
        <Form submission={REFUSED} onSubmit={nothing} submitLabel="Add user" fields={["/email"]}>
          <TextField
            label="E-mail"
            hint="For signing in"
            error={REFUSED.fieldErrors["/email"]}
            defaultValue="ada@acme.example"
            className="w-72"
          />
        </Form>
      </State>
      <State name="A form that failed as a whole">
        <Form submission={FAILED} onSubmit={nothing} submitLabel="Add user" fields={["/email"]}>
          <TextField label="E-mail" className="w-72" />
        </Form>
      </State>
      <State name="Select, text area">
        <div className="flex flex-col gap-3">
          <FormField label="Model" className="w-64">
            {(control) => (
              <Select {...control} options={MODELS} defaultValue="" onChange={nothing} />
            )}
          </FormField>
          <FormField label="Instructions" error="At most 20,000 characters.">
            {(control) => (
              <Textarea
                {...control}
                rows={3}
                value="Answer in one sentence."
                onChange={nothing}
                className={`${inputStyle} h-auto py-2`}
              />
            )}
          </FormField>
        </div>
      </State>
      <State name="Switch and checkbox">
        <Toggles />
      </State>
      <State name="A table, in the middle of its pages">
        <DataTable
          label="Users"
          columns={[
            { header: "Name", cell: (name) => name },
            { header: "Role", cell: () => "Member" },
            { header: "", cell: (name) => <Ask name={name} /> },
          ]}
          rows={USERS}
          rowKey={(name) => name}
          paging={{ onFirst: nothing, onNext: nothing }}
        />
      </State>
    </Group>
  );
}

function Toggles() {
  const [isOn, setOn] = useState(true);
  return (
    <div className="flex flex-wrap gap-6">
      <Switch label="Notify me" checked={isOn} onChange={setOn} />
      <Switch label="Off" checked={!isOn} onChange={(on) => setOn(!on)} />
      <Checkbox label="Read" checked={isOn} onChange={setOn} />
      <Checkbox label="Write" checked={!isOn} onChange={(on) => setOn(!on)} />
    </div>
  );
}

function Ask({ name }: { name: string }) {
  return (
    <AlertDialog
      trigger={
        <Button size="small" aria-label={`Disable ${name}`}>
          Disable
        </Button>
      }
      title={`Disable ${name}?`}
      description="Their sessions and API keys stop working. Their chats are kept."
      confirm="Disable"
      onConfirm={() => {}}
    />
  );
}
