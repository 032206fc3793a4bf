import { useInfiniteQuery } from "@tanstack/react-query";
import { type Agreement, api, type Bid, type Task, type TaskPage } from "../api/client.ts";
import { agreementsQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Confirm } from "../parts/confirm.tsx";
import { formatMinute, formatMoney } from "../parts/format.ts";
import { Pages, Rows } from "../parts/list.tsx";
import { LongText } from "../parts/longText.tsx";
import { MoneyPreview } from "../parts/money.tsx";
import { Section } from "../parts/page.tsx";
import { Countdown, Time } from "../parts/time.tsx";
import { can } from "./access.ts";
import styles from "./agreements.module.css";
import { FeeNote } from "./feeNote.tsx";

/** A task that was awarded, as one of its two sides sees it; `null` is a moderator. */
export interface Sides {
  task: Task;
  bid: Bid;
  side: Agreement["proposedBy"] | null;
}

/** Where the price goes, held now and afterwards, in the words of whoever reads it. */
export function moneyOf(bidderCents: number, { task, bid, side }: Sides) {
  const { priceCents } = bid;
  const [toBidder, toBuyer] = [`Paid to ${bid.bidder.displayName}`, `Returns to ${task.buyer.displayName}`];
  return [
    { label: "Held now", cents: priceCents },
    { label: side === "bidder" ? "You are then paid" : toBidder, cents: bidderCents },
    { label: side === "buyer" ? "Returns to your available balance" : toBuyer, cents: priceCents - bidderCents },
  ];
}

const titles = {
  extend: "more time",
  cancel: "to cancel the task",
  settle: "to settle",
} as const satisfies Record<Agreement["kind"], string>;

/** What one side proposes, with what it does to the money, and the answers that the reader may give. */
export function Proposal({ page, agreement, ...sides }: Sides & { page: TaskPage; agreement: Agreement }) {
  const { kind, proposedBy, reason, createdAt, expiresAt } = agreement;
  const { task, bid, side } = sides;
  const proposer = proposedBy === "buyer" ? task.buyer : bid.bidder;
  return (
    <Section
      title={side === proposedBy ? `You propose ${titles[kind]}` : `${proposer.displayName} proposes ${titles[kind]}`}
      card
    >
      <p className={styles.quiet}>
        The {proposedBy} proposed it <Time at={createdAt} />. Without an answer it lapses in{" "}
        <Countdown to={expiresAt} over="a moment" />, and nothing changes.
      </p>
      <LongText text={reason} />
      <Effect agreement={agreement} {...sides} />
      <div className={styles.actions}>
        {can(page, "agreements.accept") && <Accept agreement={agreement} {...sides} />}
        {can(page, "agreements.decline") && <Decline agreement={agreement} proposer={proposer.displayName} />}
        {can(page, "agreements.withdraw") && <Withdraw agreement={agreement} />}
      </div>
    </Section>
  );
}

/** What changes when it is accepted: the due time, or where the money is. */
function Effect({ agreement: { deliveryDueAt, bidderCents }, ...sides }: Sides & { agreement: Agreement }) {
  const { task, side } = sides;
  if (deliveryDueAt === null) {
    return (
      <>
        <MoneyPreview lines={moneyOf(bidderCents ?? 0, sides)} />
        {bidderCents !== null && <FeeNote side={side} />}
      </>
    );
  }
  return (
    <p>
      Due {formatMinute(deliveryDueAt)} instead of {task.deliveryDueAt && formatMinute(task.deliveryDueAt)}. The money
      stays held.
    </p>
  );
}

const questions = {
  extend: "Accept the new due time?",
  cancel: "Cancel the task together?",
  settle: "Accept the settlement?",
} as const satisfies Record<Agreement["kind"], string>;

function Accept({ agreement, ...sides }: Sides & { agreement: Agreement }) {
  const accept = useAction("agreements.accept", api.agreements.accept.mutate);
  const isFinal = agreement.kind !== "extend";
  return (
    <Confirm
      button="Accept"
      look="primary"
      title={questions[agreement.kind]}
      confirm="Accept the proposal"
      action={accept}
      operation="agreements.accept"
      read={() => ({ id: agreement.id })}
    >
      <Effect agreement={agreement} {...sides} />
      {isFinal && (
        <p>
          The task ends with this{sides.task.status === "disputed" && ", and so does the dispute, which nobody loses"}.
        </p>
      )}
    </Confirm>
  );
}

function Decline({ agreement, proposer }: { agreement: Agreement; proposer: string }) {
  const decline = useAction("agreements.decline", api.agreements.decline.mutate);
  return (
    <Confirm
      button="Decline"
      title="Decline the proposal?"
      confirm="Decline the proposal"
      action={decline}
      operation="agreements.decline"
      read={() => ({ id: agreement.id })}
    >
      <p>
        Nothing changes. <bdi>{proposer}</bdi> may propose something else, and so may you.
      </p>
    </Confirm>
  );
}

function Withdraw({ agreement }: { agreement: Agreement }) {
  const withdraw = useAction("agreements.withdraw", api.agreements.withdraw.mutate);
  return (
    <Confirm
      button="Withdraw"
      title="Withdraw the proposal?"
      confirm="Withdraw the proposal"
      action={withdraw}
      operation="agreements.withdraw"
      read={() => ({ id: agreement.id })}
    >
      <p>Nothing changes, and you may propose something else.</p>
    </Confirm>
  );
}

const ends = {
  pending: "waits for an answer",
  accepted: "accepted",
  declined: "declined",
  withdrawn: "withdrawn",
  lapsed: "lapsed",
} as const satisfies Record<Agreement["status"], string>;

/** What the two sides have proposed to each other so far. */
export function Proposals({ taskId }: { taskId: string }) {
  const proposals = useInfiniteQuery(agreementsQuery(taskId));
  return (
    <Pages
      query={proposals}
      isEmpty={({ pages }) => pages[0]?.agreements.length === 0}
      empty={<p className={styles.quiet}>Nobody has proposed anything so far.</p>}
    >
      {({ pages }) => (
        <Rows label="Proposals">
          {pages.flatMap(({ agreements }) =>
            agreements.map((agreement) => <PastProposal key={agreement.id} agreement={agreement} />),
          )}
        </Rows>
      )}
    </Pages>
  );
}

function PastProposal({ agreement }: { agreement: Agreement }) {
  const { kind, proposedBy, reason, bidderCents, deliveryDueAt, status, createdAt, endedAt } = agreement;
  return (
    <li className={styles.past}>
      <p>
        The {proposedBy} proposed {titles[kind]}
        {bidderCents !== null && <>, with {formatMoney(bidderCents)} for the bidder</>}
        {deliveryDueAt !== null && <>, until {formatMinute(deliveryDueAt)}</>}: <b>{ends[status]}</b>{" "}
        <Time at={endedAt ?? createdAt} />
      </p>
      <p className={styles.quiet} dir="auto">
        {reason}
      </p>
    </li>
  );
}
