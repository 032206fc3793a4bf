import { useSuspenseQuery } from "@tanstack/react-query";
import { type ApiKey, api } from "../api/client.ts";
import { keysQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Confirm } from "../parts/confirm.tsx";
import { DeveloperTabs } from "../parts/developerTabs.tsx";
import { formatMoney } from "../parts/format.ts";
import { Rows } from "../parts/list.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Secret } from "../parts/secret.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./developers.module.css";
import { KeyForm } from "./keys/keyForm.tsx";

export function Keys() {
  const { data } = useSuspenseQuery(keysQuery);
  const create = useAction("keys.create", api.keys.create.mutate);
  const apps = data.keys.filter(({ kind }) => kind === "grant");
  const ownKeys = data.keys.filter(({ kind }) => kind === "key");
  return (
    <>
      <DeveloperTabs />
      <Page
        title="API keys"
        width="narrow"
        lead="A key lets a program act for you: as much as you allow, and no longer than you want."
      >
        <Section title="Your keys">
          {ownKeys.length === 0 ? (
            <Empty title="You have no keys">Create one below, and give it to your agent.</Empty>
          ) : (
            <Rows label="API keys">
              {ownKeys.map((key) => (
                <KeyRow key={key.id} apiKey={key} />
              ))}
            </Rows>
          )}
        </Section>
        <Section title="Connected apps">
          {apps.length === 0 ? (
            <Empty title="No app is connected">An app that you allow on its own page stands here.</Empty>
          ) : (
            <Rows label="Connected apps">
              {apps.map((key) => (
                <KeyRow key={key.id} apiKey={key} />
              ))}
            </Rows>
          )}
        </Section>
        <Section title="Create a key" card>
          {create.isSuccess ? (
            <Secret title={`The key “${create.data.label}”`} text={create.data.raw} onDone={() => create.reset()} />
          ) : (
            <KeyForm create={create} />
          )}
        </Section>
      </Page>
    </>
  );
}

function KeyRow({ apiKey }: { apiKey: ApiKey }) {
  const { id, label, scopes, last4, createdAt, expiresAt, lastUsedAt, spendLimit, approval, client } = apiKey;
  const revoke = useAction("keys.revoke", api.keys.revoke.mutate);
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>
          <bdi>{label}</bdi>{" "}
          {client === null ? <code>…{last4}</code> : <bdi className={styles.meta}>{client.domain}</bdi>}
        </p>
        <p className={styles.meta}>
          {client === null ? "created" : "connected"} <Time at={createdAt} />,{" "}
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
        {approval && <p className={styles.meta}>asks you about anything above {formatMoney(approval.aboveCents)}</p>}
      </div>
      <Confirm
        button="Revoke"
        size="small"
        look="danger"
        title={`Revoke “${label}”?`}
        confirm={client === null ? "Revoke the key" : "End its access"}
        action={revoke}
        operation="keys.revoke"
        read={() => ({ id })}
      >
        <p>It stops working at once, for good. What it has done stays.</p>
      </Confirm>
    </li>
  );
}
