import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { disputeQuery } from "../../../api/queries.ts";
import { Page, Section } from "../../../parts/page.tsx";
import { Time } from "../../../parts/time.tsx";
import { Conversation } from "../../../task/conversation.tsx";
import { DisputeRecord } from "../../../task/record.tsx";
import { Decide } from "../decide.tsx";
import styles from "../moderation.module.css";

/** A dispute at the moderator's desk: what it is decided by, the place to ask both sides, and the decision. */
export function ReadDispute() {
  const { disputeId } = useParams({ from: "/_signedIn/moderation/disputes/$disputeId" });
  const { data } = useSuspenseQuery(disputeQuery(disputeId));
  const { dispute, task, bid } = data;
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
      <DisputeRecord page={data} />
      {dispute.status === "open" && (
        <>
          <Section title="Ask both sides">
            <Conversation bidId={bid.id} canWrite asModerator />
          </Section>
          <Decide dispute={dispute} priceCents={bid.priceCents} buyer={task.buyer} bidder={bid.bidder} />
        </>
      )}
    </Page>
  );
}
