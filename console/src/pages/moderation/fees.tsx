import { useSuspenseQuery } from "@tanstack/react-query";
import type { FeeSchedule, Operations } from "../../api/client.ts";
import { formatMonth } from "../../month.ts";
import { Badge } from "../../parts/badge.tsx";
import { formatExact, formatMoney } from "../../parts/format.ts";
import { Fact, Facts } from "../../parts/list.tsx";
import { Money } from "../../parts/money.tsx";
import { Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { feesQuery, feeText } from "../../task/fee.ts";
import { FeeChart } from "./feeChart.tsx";
import styles from "./moderation.module.css";

type Figures = NonNullable<Operations["fees"]>;

/** What the platform earns: by month, by which schedules, and what was withdrawn of it. */
export function Fees({ figures: { platformCents, months, withdrawals } }: { figures: Figures }) {
  const [newest] = months;
  return (
    <Section
      title="The platform's fee"
      lead="What bidders pay. A bid keeps the fee of the time when its price was set."
      card
    >
      <div className={styles.figures}>
        <Amount name="Earned and not withdrawn" cents={platformCents} />
        {newest && <Amount name={`Earned in ${formatMonth(newest.month)}`} cents={newest.earnedCents} />}
      </div>
      <FeeChart months={months} />
      <div className={styles.part}>
        <h3>Schedules</h3>
        <Schedules />
      </div>
      <div className={styles.part}>
        <h3>Withdrawals</h3>
        {withdrawals.length === 0 ? (
          <Empty title="Nothing was withdrawn yet">
            Pay it out at the payment processor, then book it with <code>npm run fees -- withdraw</code>.
          </Empty>
        ) : (
          <Facts>
            {withdrawals.map(({ reference, amountCents, createdAt }) => (
              <Fact key={reference} name={reference}>
                <Money cents={amountCents} />, <Time at={createdAt} />
              </Fact>
            ))}
          </Facts>
        )}
      </div>
    </Section>
  );
}

function Amount({ name, cents }: { name: string; cents: number }) {
  return (
    <div className={styles.figure}>
      <span>{name}</span>
      <strong>{formatMoney(cents)}</strong>
    </div>
  );
}

/** Every schedule, the one that starts last first: what is coming, what counts now, and what has counted. */
function Schedules() {
  const { data } = useSuspenseQuery(feesQuery);
  const { current, schedules } = data;
  const isComing = (index: number) => current === null || index < schedules.findIndex(({ id }) => id === current.id);
  return (
    <ol className={styles.schedules}>
      {schedules.map((schedule, index) => (
        <li key={schedule.id}>
          <div>
            <p className={styles.title}>{schedule.basisPoints === 0 ? "No fee" : feeText(schedule)}</p>
            <p className={styles.meta}>{whenOf(schedule, isComing(index))}</p>
          </div>
          {schedule.id === current?.id && <Badge tone="good">Now</Badge>}
          {isComing(index) && <Badge tone="accent">Coming</Badge>}
        </li>
      ))}
    </ol>
  );
}

function whenOf({ from, taxBasisPoints }: FeeSchedule, isComing: boolean): string {
  const tax = taxBasisPoints > 0 ? `, with ${taxBasisPoints / 100} % tax in it` : "";
  return `${isComing ? "from" : "since"} ${formatExact(from)}${tax}`;
}
