import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { DisputeCase } from "../../../api/client.ts";
import { disputeQuery } from "../../../api/queries.ts";
import { formatDisputes, formatHours, formatMinute } from "../../../parts/format.ts";
import { Fact, Facts } from "../../../parts/list.tsx";
import { LongText } from "../../../parts/longText.tsx";
import { Money } from "../../../parts/money.tsx";
import { Notice } from "../../../parts/notice.tsx";
import { Page, Section } from "../../../parts/page.tsx";
import { Person } from "../../../parts/person.tsx";
import { Time } from "../../../parts/time.tsx";
import { DisputeState } from "../../../task/dispute.tsx";
import { File } from "../../../task/files.tsx";
import { Decide } from "../decide.tsx";
import styles from "../moderation.module.css";

export function ReadDispute() {
  const { disputeId } = useParams({ from: "/_signedIn/moderation/disputes/$disputeId" });
  const { data } = useSuspenseQuery(disputeQuery(disputeId));
  const { dispute, task, bid, samples, deliveries } = data;
  return (
    <Page
      title={task.title}
      above={
        <p className={styles.meta}>
          Dispute, opened by the {dispute.openedBy} <Time at={dispute.createdAt} />
        </p>
      }
      lead={
        <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
          See the task
        </Link>
      }
    >
      {dispute.status === "open" ? (
        <Section title={`What is wrong, says the ${dispute.openedBy}`} card>
          <LongText text={dispute.reason} />
        </Section>
      ) : (
        <DisputeState dispute={dispute} />
      )}
      <div className={styles.sides}>
        <BuyerSide page={data} />
        <BidderSide page={data} />
      </div>
      <Section title="What was delivered">
        {deliveries.map((file) => (
          <File key={file.id} file={file} />
        ))}
        {deliveries.length === 0 && <Notice>Nothing was delivered.</Notice>}
      </Section>
      {samples.length > 0 && (
        <Section title="Samples before it">
          {samples.map((file) => (
            <File key={file.id} file={file} />
          ))}
        </Section>
      )}
      {dispute.status === "open" && (
        <Decide dispute={dispute} priceCents={bid.priceCents} buyer={task.buyer} bidder={bid.bidder} />
      )}
    </Page>
  );
}

/** What the buyer asked for. */
function BuyerSide({ page: { task, reputations } }: { page: DisputeCase }) {
  return (
    <Section title="The buyer asked for" card>
      <Facts>
        <Fact name="Buyer">
          <Person person={task.buyer} as="buyer" />
        </Fact>
        <Fact name="Disputes">{formatDisputes(reputations.buyer.buyer)}</Fact>
        <Fact name="Budget">
          <Money cents={task.maxBudgetCents} />
        </Fact>
      </Facts>
      <LongText text={task.description} />
      {task.acceptanceCriteria !== null && (
        <>
          <h3>It is accepted when</h3>
          <LongText text={task.acceptanceCriteria} />
        </>
      )}
    </Section>
  );
}

/** What the bidder promised, and when they delivered. */
function BidderSide({ page: { task, bid, reputations } }: { page: DisputeCase }) {
  return (
    <Section title="The bidder offered" card>
      <Facts>
        <Fact name="Bidder">
          <Person person={bid.bidder} as="bidder" />
        </Fact>
        <Fact name="Disputes">{formatDisputes(reputations.bidder.bidder)}</Fact>
        <Fact name="Price">
          <Money cents={bid.priceCents} />
        </Fact>
        <Fact name="Time">{formatHours(bid.etaHours)}</Fact>
        {task.deliveryDueAt && <Fact name="Due">{formatMinute(task.deliveryDueAt)}</Fact>}
        {task.deliveredAt && <Fact name="Delivered">{formatMinute(task.deliveredAt)}</Fact>}
      </Facts>
      {bid.notes !== null && <LongText text={bid.notes} />}
    </Section>
  );
}
