import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { Reputation } from "../../api/client.ts";
import { meQuery, reputationQuery } from "../../api/queries.ts";
import { formatDisputes, formatHours, formatNumber } from "../../parts/format.ts";
import { Fact, Facts } from "../../parts/list.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { RatingSummary } from "../../parts/person.tsx";
import { Empty } from "../../parts/states.tsx";
import styles from "./users.module.css";

export function ReadReputation() {
  const { userId } = useParams({ from: "/users/$userId" });
  const { data } = useSuspenseQuery(reputationQuery(userId));
  const { data: me } = useQuery(meQuery);
  const { displayName, buyer, bidder } = data;
  return (
    <Page
      title={displayName ?? "Reputation"}
      above={displayName && <p className={styles.above}>{me?.user.id === userId ? "Your reputation" : "Reputation"}</p>}
      lead="Counted from tasks, disputes and ratings. Everybody can see it."
      width="narrow"
    >
      {buyer === null && bidder === null && (
        <Empty title="Nothing yet">
          Somebody who has neither posted a task nor been awarded one has no reputation.
        </Empty>
      )}
      <div className={styles.sides}>
        {bidder && <Bidder side={bidder} />}
        {buyer && <Buyer side={buyer} />}
      </div>
    </Page>
  );
}

function Bidder({ side }: { side: NonNullable<Reputation["bidder"]> }) {
  return (
    <Section title="As a bidder" actions={<RatingSummary side={side} />} card>
      <Facts>
        <Fact name="Tasks awarded">{formatNumber(side.tasksAwarded)}</Fact>
        <Fact name="Delivered">{formatNumber(side.tasksDelivered)}</Fact>
        <Fact name="Accepted">{formatNumber(side.tasksAccepted)}</Fact>
        <Fact name="Not delivered in time">{formatNumber(side.tasksExpired)}</Fact>
        {side.tasksGivenBack > 0 && <Fact name="Given back before delivery">{formatNumber(side.tasksGivenBack)}</Fact>}
        <EndedTogether side={side} />
        <Fact name="On time">{side.onTimeRate === null ? "—" : `${Math.round(side.onTimeRate * 100)}%`}</Fact>
        <Fact name="Disputes">{formatDisputes(side)}</Fact>
      </Facts>
    </Section>
  );
}

function Buyer({ side }: { side: NonNullable<Reputation["buyer"]> }) {
  return (
    <Section title="As a buyer" actions={<RatingSummary side={side} />} card>
      <Facts>
        <Fact name="Tasks posted">{formatNumber(side.tasksPosted)}</Fact>
        <Fact name="Awarded">{formatNumber(side.tasksAwarded)}</Fact>
        <Fact name="Accepted">{formatNumber(side.tasksAccepted)}</Fact>
        <Fact name="Cancelled">{formatNumber(side.tasksCancelled)}</Fact>
        <EndedTogether side={side} />
        <Fact name="Usually decides within">
          {side.medianDecisionHours === null ? "—" : formatHours(Number(side.medianDecisionHours.toFixed(1)))}
        </Fact>
        <Fact name="Disputes">{formatDisputes(side)}</Fact>
      </Facts>
    </Section>
  );
}

/** A friendly end, which counts for and against nobody. */
function EndedTogether({ side: { tasksEndedByAgreement } }: { side: { tasksEndedByAgreement: number } }) {
  if (tasksEndedByAgreement === 0) return null;
  return <Fact name="Ended by agreement">{formatNumber(tasksEndedByAgreement)}</Fact>;
}
