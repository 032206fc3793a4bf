import { useState } from "react";
import type { ApiKey, api } from "../../api/client.ts";
import type { Action } from "../../api/useAction.ts";
import { optionsOf } from "../../options.ts";
import type { FieldReader } from "../../parts/fieldReader.ts";
import { Choices, MoneyField, TextField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { lifetimes, type Purpose, periods, purposes, scopeNames, scopesFor, scopeWords } from "./proposals.ts";

type NewKey = ReturnType<typeof readKey>;
type CreatedKey = Awaited<ReturnType<typeof api.keys.create.mutate>>;

const purposeOf = (fields: FieldReader): Purpose =>
  purposes.find(({ value }) => value === fields.text("purpose"))?.value ?? "custom";

function readKey(fields: FieldReader) {
  const days = Number(fields.text("expiresAt"));
  const per: NonNullable<ApiKey["spendLimit"]>["per"] | undefined =
    periods.find(({ value }) => value !== "" && value === fields.text("spendLimit.per"))?.value || undefined;
  const chosen = fields.all("scopes");
  return {
    label: fields.text("label"),
    scopes: scopesFor(purposeOf(fields)) ?? scopeNames.filter((name) => chosen.includes(name)),
    ...(days > 0 && { expiresAt: new Date(Date.now() + days * 86_400_000).toISOString() }),
    ...(fields.has("approval.aboveCents") &&
      fields.text("approval.aboveCents") !== "" && {
        approval: { aboveCents: fields.money("approval.aboveCents") },
      }),
    ...(per && { spendLimit: { per, cents: fields.money("spendLimit.cents") } }),
  };
}

/** Creates a key. What a careful person would allow an agent is proposed: no more than its job needs, little money, 90 days. */
export function KeyForm({ create }: { create: Action<NewKey, CreatedKey> }) {
  const [purpose, setPurpose] = useState<Purpose>("work");
  const [hasLimit, setHasLimit] = useState(true);
  // What the document lists, so that a new scope is never missing here without anybody noticing.
  const scopes = optionsOf("keys.create", "scopes");
  return (
    <Form
      action={create}
      operation="keys.create"
      read={readKey}
      onInput={(fields) => {
        setPurpose(purposeOf(fields));
        // A key that cannot spend is not asked for a limit; once it can, one is proposed.
        setHasLimit(!fields.has("spendLimit.per") || fields.text("spendLimit.per") !== "");
      }}
      submit="Create the key"
    >
      <TextField name="label" label="Name" hint="So that you recognise it later." autoComplete="off" />
      <Choices
        name="purpose"
        label="What it is for"
        hint="Any key may read what is yours."
        type="radio"
        chosen={["work"]}
        options={purposes}
      />
      {purpose === "custom" && (
        <Choices
          name="scopes"
          label="What it may do"
          options={scopes.map((scope) => ({
            value: scope,
            label: scope,
            hint: scopeNames.filter((name) => name === scope).map((name) => scopeWords[name])[0],
          }))}
        />
      )}
      {purpose !== "work" && (
        <>
          <Choices name="spendLimit.per" label="What it may spend" type="radio" chosen={["day"]} options={periods} />
          {hasLimit && (
            <MoneyField
              name="spendLimit.cents"
              label="Limit"
              hint="With 50.00 a day, it posts two tasks of $25.00 in a day, and no third one, unless you approve it."
              defaultValue="50.00"
            />
          )}
          <AskMeAbove />
        </>
      )}
      <Choices name="expiresAt" label="When it stops working" type="radio" chosen={["90"]} options={lifetimes} />
    </Form>
  );
}

const AskMeAbove = () => (
  <MoneyField
    name="approval.aboveCents"
    label="Ask me above"
    hint="With 20.00, it awards a bid of $20.00 by itself, and asks you about one of $20.01. You answer under “Approvals”. Empty: it never asks."
    defaultValue="20.00"
    optional
  />
);
