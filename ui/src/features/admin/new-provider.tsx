/** The form that adds a provider. */
import { unwrap } from "@holdfast/client";
import { type QueryKey, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "@/api/client";
import { type Provider, type Vendor, vendorsQuery } from "@/api/queries/admin";
import { useApiMutation } from "@/api/use-api-mutation";
import { adminStrings as t } from "@/i18n/en/admin";
import { Checkbox } from "@/ui/checkbox";
import { Form } from "@/ui/form";
import { FormField, TextField } from "@/ui/form-field";
import { Select } from "@/ui/select";

const USUAL = "anthropic";

interface NewProviderProps {
  readonly changes: readonly QueryKey[];
  readonly onAdded: (provider: Provider) => void;
}

export function NewProvider({ changes, onAdded }: NewProviderProps) {
  const vendors = useQuery(vendorsQuery).data?.data ?? [];
  const [vendor, setVendor] = useState(USUAL);
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [key, setKey] = useState("");
  const [userKeys, setUserKeys] = useState(false);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const card = vendors.find((each) => each.name === vendor);
  // An address of one's own has no places for values.
  const places = address === "" ? (card?.values ?? []) : [];
  const add = useApiMutation({
    request: () =>
      unwrap(
        api.POST("/api/v1/organization/providers", {
          body: {
            name,
            vendor,
            base_url: address,
            key: key === "" ? null : key,
            values: Object.fromEntries(places.map((place) => [place, values[place] ?? ""])),
            settings: {},
            is_enabled: true,
            user_keys: userKeys,
          },
        }),
      ),
    invalidates: changes,
    onSuccess: (provider) => {
      setName("");
      setAddress("");
      setKey("");
      setUserKeys(false);
      setValues({});
      onAdded(provider);
    },
  });
  return (
    <Form
      submission={add}
      onSubmit={() => add.run(undefined)}
      submitLabel={t.addProvider}
      fields={["/name", "/vendor", "/base_url", "/key", "/values"]}
      layout="column"
    >
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <FormField label={t.vendor} error={add.fieldErrors["/vendor"]}>
          {(control) => (
            <Select
              {...control}
              value={vendor}
              options={vendors.map((each) => [each.name, titleOf(each, vendors)] as const)}
              onChange={setVendor}
            />
          )}
        </FormField>
        <TextField
          label={t.providerName}
          required
          maxLength={100}
          autoComplete="off"
          error={add.fieldErrors["/name"]}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label={t.key}
          type="password"
          autoComplete="off"
          hint={t.keyHint}
          error={add.fieldErrors["/key"]}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <TextField
          label={t.baseUrl}
          type="url"
          autoComplete="off"
          required={card?.base_url === ""}
          placeholder={card?.base_url}
          hint={card?.base_url === "" ? t.baseUrlNeeded : t.baseUrlOwn}
          error={add.fieldErrors["/base_url"]}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
        />
        {places.map((place) => (
          <TextField
            key={place}
            label={place}
            required
            autoComplete="off"
            error={add.fieldErrors["/values"]}
            value={values[place] ?? ""}
            onChange={(event) => setValues({ ...values, [place]: event.target.value })}
          />
        ))}
      </div>
      <Checkbox label={t.userKeys} checked={userKeys} onChange={setUserKeys} />
    </Form>
  );
}

/** Two rows of a vendor, for two protocols, have one title. */
function titleOf(vendor: Vendor, vendors: readonly Vendor[]): string {
  const isShared = vendors.filter((each) => each.title === vendor.title).length > 1;
  return isShared ? `${vendor.title} (${vendor.name})` : vendor.title;
}
