import { useSuspenseQuery } from "@tanstack/react-query";
import type { Operations } from "../../api/client.ts";
import { operationsQuery } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { formatNumber, plural } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Fees } from "./fees.tsx";
import styles from "./moderation.module.css";

const REFRESH_MS = 10_000;

export function ReadOperations() {
  const { data } = useSuspenseQuery({ ...operationsQuery, refetchInterval: REFRESH_MS });
  const { waiting, deliveries } = data;
  return (
    <Page title="Operations" lead="How the service itself is doing. Read again every ten seconds.">
      <Section title="Waiting" lead="Normally close to 0.">
        <div className={styles.figures}>
          <Figure name="Jobs" value={waiting.jobs} note="due, and not taken" />
          <Figure
            name="Failed jobs"
            value={waiting.failedJobs}
            note="tried often enough"
            alarm={waiting.failedJobs > 0}
          />
          <Figure name="Processor events" value={waiting.processorEvents} note="not applied yet" />
          <Figure name="Payout steps" value={waiting.payouts} note="due" />
          <Figure
            name="Deliveries"
            value={deliveries.pending}
            note={
              deliveries.oldestDueAt ? (
                <>
                  the oldest due <Time at={deliveries.oldestDueAt} />
                </>
              ) : (
                "none is late"
              )
            }
          />
        </div>
      </Section>
      <Payouts payouts={data.unfinishedPayouts} />
      {data.fees && <Fees figures={data.fees} />}
      <Audit audit={data.audit} />
    </Page>
  );
}

function Figure({
  name,
  value,
  note,
  alarm = false,
}: {
  name: string;
  value: number;
  note: React.ReactNode;
  alarm?: boolean;
}) {
  return (
    <div className={alarm ? `${styles.figure} ${styles.alarm}` : styles.figure}>
      <span>{name}</span>
      <strong>{formatNumber(value)}</strong>
      <span>{note}</span>
    </div>
  );
}

/** The payouts under way in each state, as bars. */
function Payouts({ payouts }: { payouts: Operations["unfinishedPayouts"] }) {
  const most = Math.max(1, ...payouts.map(({ count }) => count));
  return (
    <Section title="Payouts under way" card>
      <dl className={styles.bars}>
        {payouts.map(({ state, count, oldestSeconds }) => (
          <div key={state}>
            <dt>{state}</dt>
            <dd className={styles.bar}>
              <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(count / most) * 100} height="1" />
              </svg>
            </dd>
            <dd className={styles.count}>
              {formatNumber(count)}
              {count > 0 && `, the oldest ${plural(Math.round(oldestSeconds / 60), "minute")} old`}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

function Audit({ audit }: { audit: Operations["audit"] }) {
  if (audit === null) {
    return (
      <Section title="Audit of the ledger">
        <Empty title="There was no audit yet">It runs every night.</Empty>
      </Section>
    );
  }
  const { checks, count, discrepancies, finishedAt, notCompared } = audit;
  return (
    <Section
      title="Audit of the ledger"
      lead={
        <>
          finished <Time at={finishedAt} />
        </>
      }
      actions={
        count === 0 ? (
          <Badge tone="good">Right to the cent</Badge>
        ) : (
          <Badge tone="bad">{plural(count, "discrepancy", "discrepancies")}</Badge>
        )
      }
      card
    >
      {notCompared !== null && (
        <Notice kind="warn" title="Not compared with the payment processor">
          {notCompared}
        </Notice>
      )}
      <ul className={styles.checks}>
        {checks.map((check) => (
          <li key={check.name}>
            {check.count === 0 ? (
              <span className={styles.ok} role="img" aria-label="right">
                ✓
              </span>
            ) : (
              <span className={styles.bad}>{formatNumber(check.count)}</span>
            )}
            {check.name}
          </li>
        ))}
      </ul>
      {discrepancies.map(({ check, subject, expected, actual }) => (
        <Notice key={`${check} ${subject}`} kind="bad" title={subject}>
          {actual}, should be {expected} ({check})
        </Notice>
      ))}
    </Section>
  );
}
