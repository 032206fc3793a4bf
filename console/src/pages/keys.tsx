import { useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, api } from "../api/client.ts";
import { keysQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { limitsOf } from "../limits.ts";
import { Confirm } from "../parts/confirm.tsx";
import { DeveloperTabs } from "../parts/developerTabs.tsx";
import type { FieldReader } from "../parts/fieldReader.ts";
import { Choices, MoneyField, TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { formatMoney } from "../parts/format.ts";
import { Rows } from "../parts/list.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Secret } from "../parts/secret.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./developers.module.css";

type Scope = ApiKey["scopes"][number];
type Period = NonNullable<ApiKey["spendLimit"]>["per"];

const scopeWords: Record<Scope, string> = {
  "task:write": "Post, change, award, accept and rate tasks. This can spend your money.",
  "bid:write": "Place and change bids, upload samples and deliveries.",
  "payouts:write": "Request payouts to your bank account.",
  "webhook:read": "See your webhooks and their deliveries.",
  "webhook:write": "Register, test and delete webhooks.",
};

const lifetimes = [
  { value: "", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

const periods: { value: Period | ""; label: string }[] = [
  { value: "", label: "No limit" },
  { value: "day", label: "A limit per day" },
  { value: "month", label: "A limit per month" },
  { value: "total", label: "A limit in all" },
];

const scopeNames = Object.keys(scopeWords).filter((name): name is Scope => Object.hasOwn(scopeWords, name));

function readKey(fields: FieldReader) {
  const days = Number(fields.text("expiresAt"));
  const per = periods.find(({ value }) => value !== "" && value === fields.text("spendLimit.per"))?.value;
  const chosen = fields.all("scopes");
  return {
    label: fields.text("label"),
    scopes: scopeNames.filter((name) => chosen.includes(name)),
    ...(days > 0 && { expiresAt: new Date(Date.now() + days * 86_400_000).toISOString() }),
    ...(per && { spendLimit: { per, cents: fields.money("spendLimit.cents") } }),
  };
}

export function Keys() {
  const { data } = useSuspenseQuery(keysQuery);
  const [hasLimit, setHasLimit] = useState(false);
  const create = useAction("keys.create", api.keys.create.mutate);
  // What the document lists, so that a new scope is never missing here without anybody noticing.
  const scopes = limitsOf("keys.create", "scopes").options ?? [];
  return (
    <>
      <DeveloperTabs />
      <Page
        title="API keys"
        width="narrow"
        lead="A key lets a program act for you: as much as you allow, and no longer than you want."
      >
        <Section title="Your keys">
          {data.keys.length === 0 ? (
            <Empty title="You have no keys">Create one below, and give it to your agent.</Empty>
          ) : (
            <Rows label="API keys">
              {data.keys.map((key) => (
                <KeyRow key={key.id} apiKey={key} />
              ))}
            </Rows>
          )}
        </Section>
        <Section title="Create a key" card>
          {create.isSuccess ? (
            <Secret title={`The key “${create.data.label}”`} text={create.data.raw} onDone={() => create.reset()} />
          ) : (
            <Form
              action={create}
              operation="keys.create"
              read={readKey}
              onInput={(fields) => setHasLimit(fields.text("spendLimit.per") !== "")}
              submit="Create the key"
            >
              <TextField name="label" label="Name" hint="So that you recognise it later." autoComplete="off" />
              <Choices
                name="scopes"
                label="What it may do"
                hint="It may always read what is yours."
                options={scopes.map((scope) => ({
                  value: scope,
                  label: scope,
                  hint: scopeNames.filter((name) => name === scope).map((name) => scopeWords[name])[0],
                }))}
              />
              <Choices name="spendLimit.per" label="What it may spend" type="radio" chosen={[""]} options={periods} />
              {hasLimit && (
                <MoneyField name="spendLimit.cents" label="Limit" hint="Of new tasks, larger budgets and payouts." />
              )}
              <Choices name="expiresAt" label="When it stops working" type="radio" chosen={[""]} options={lifetimes} />
            </Form>
          )}
        </Section>
      </Page>
    </>
  );
}

function KeyRow({ apiKey }: { apiKey: ApiKey }) {
  const { id, label, scopes, last4, createdAt, expiresAt, lastUsedAt, spendLimit } = apiKey;
  const revoke = useAction("keys.revoke", api.keys.revoke.mutate);
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>
          <bdi>{label}</bdi> <code>…{last4}</code>
        </p>
        <p className={styles.meta}>
          created <Time at={createdAt} />,{" "}
          {lastUsedAt ? (
            <>
              used <Time at={lastUsedAt} />
            </>
          ) : (
            "never used"
          )}
          {expiresAt && (
            <>
              , stops working <Time at={expiresAt} />
            </>
          )}
        </p>
        <p className={styles.meta}>{scopes.length > 0 ? scopes.join(", ") : "reads only"}</p>
        {spendLimit && (
          <p className={styles.meta}>
            <meter min={0} max={Math.max(1, spendLimit.cents)} value={spendLimit.spentCents} aria-label="Spent" />{" "}
            {formatMoney(spendLimit.spentCents)} of {formatMoney(spendLimit.cents)} spent,{" "}
            {spendLimit.per === "total" ? "in all" : `this ${spendLimit.per}`}
          </p>
        )}
      </div>
      <Confirm
        button="Revoke"
        size="small"
        look="danger"
        title={`Revoke “${label}”?`}
        confirm="Revoke the key"
        action={revoke}
        operation="keys.revoke"
        read={() => ({ id })}
      >
        <p>It stops working at once, for good. What it has done stays.</p>
      </Confirm>
    </li>
  );
}
