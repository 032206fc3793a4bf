import { type ApiKey, api } from "../../api/client.ts";
import { useAction } from "../../api/useAction.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "../developers.module.css";
import { Activity } from "./activity.tsx";
import { scopeWords } from "./proposals.ts";
import { wordsOfApproval, wordsOfLimit } from "./words.ts";

/** A key or a connected app: what it may do, what it did, and its end. */
export function KeyRow({ apiKey }: { apiKey: ApiKey }) {
  const { id, label, last4, client } = apiKey;
  const revoke = useAction("keys.revoke", api.keys.revoke.mutate);
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>
          <bdi>{label}</bdi>{" "}
          {client === null ? <code>…{last4}</code> : <bdi className={styles.meta}>{client.domain}</bdi>}
        </p>
        <Times apiKey={apiKey} />
        <Limits apiKey={apiKey} />
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
      <Activity keyId={id} label={label} />
    </li>
  );
}

function Times({ apiKey: { createdAt, lastUsedAt, expiresAt, client } }: { apiKey: ApiKey }) {
  return (
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
  );
}

function Limits({ apiKey: { scopes, spendLimit, approval, client } }: { apiKey: ApiKey }) {
  return (
    <>
      {client === null || scopes.length === 0 ? (
        <p className={styles.meta}>{scopes.length > 0 ? scopes.join(", ") : "reads only"}</p>
      ) : (
        <ul className={styles.may} aria-label="What it may do">
          <li>Read what you can read here.</li>
          {scopes.map((scope) => (
            <li key={scope}>{scopeWords[scope]}</li>
          ))}
        </ul>
      )}
      {spendLimit && (
        <p className={styles.meta}>
          {spendLimit.cents > 0 && (
            <>
              <meter min={0} max={spendLimit.cents} value={spendLimit.spentCents} aria-label="Spent" />{" "}
            </>
          )}
          {wordsOfLimit(spendLimit)}
        </p>
      )}
      {approval && <p className={styles.meta}>{wordsOfApproval(approval)}</p>}
    </>
  );
}
