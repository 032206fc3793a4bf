import { Link, useLocation } from "@tanstack/react-router";
import type { Bid, Task, TaskPage } from "../api/client.ts";
import { ButtonAnchor, ButtonLink } from "../parts/button.tsx";
import { formatMinute, formatNumber } from "../parts/format.ts";
import { Fact, Facts } from "../parts/list.tsx";
import { Money } from "../parts/money.tsx";
import { Person } from "../parts/person.tsx";
import { awardedBidOf, can } from "./access.ts";
import { CancelTask } from "./decisions.tsx";
import styles from "./taskSide.module.css";

interface TaskSideProps {
  page: TaskPage;
  /** The task with all of its fields, or null for a visitor. */
  full: Task | null;
  userId: string | null;
}

/** While one of these, the delivery has a due time that still matters. */
const underWay: readonly string[] = ["awarded", "delivered", "disputed"];

/** What the task is about in figures, and what a visitor, a bidder or its buyer can do with it. */
export function TaskSide({ page, full, userId }: TaskSideProps) {
  const { task } = page;
  return (
    <div className={styles.side}>
      <Facts>
        <Amounts task={task} bid={full ? awardedBidOf(page, full) : undefined} />
        <Fact name="Bids">{task.bidCount === 0 ? "none yet" : formatNumber(task.bidCount)}</Fact>
        {page.questionCount > 0 && (
          <Fact name="Questions">
            <a href="#questions">{formatNumber(page.questionCount)}</a>
          </Fact>
        )}
        {full && (
          <Fact name="Buyer">
            <Person person={full.buyer} as="buyer" />
          </Fact>
        )}
        {full !== null && full.revisions > 0 && (
          <Fact name="Rounds of changes">
            {full.revisionsUsed === 0
              ? formatNumber(full.revisions)
              : `${full.revisionsUsed} of ${full.revisions} used`}
          </Fact>
        )}
        {full?.deliveryDueAt && underWay.includes(full.status) && (
          <Fact name="Due">{formatMinute(full.deliveryDueAt)}</Fact>
        )}
        {full?.acceptedAt && <Fact name="Accepted">{formatMinute(full.acceptedAt)}</Fact>}
      </Facts>
      {userId === null && <Invitation />}
      {can(page, "bids.place") && (
        <div className={styles.actions}>
          <ButtonAnchor href="#bid" look="primary">
            Bid on this task
          </ButtonAnchor>
        </div>
      )}
      {full && (can(page, "tasks.update") || can(page, "tasks.cancel")) && (
        <div className={styles.actions}>
          {can(page, "tasks.update") && (
            <ButtonLink to="/edit/$taskId" params={{ taskId: task.id }}>
              Edit the task
            </ButtonLink>
          )}
          {can(page, "tasks.cancel") && <CancelTask task={full} />}
        </div>
      )}
    </div>
  );
}

/** The one amount that counts comes first: the price once there is one, and the budget before. */
function Amounts({ task, bid }: { task: TaskPage["task"]; bid: Bid | undefined }) {
  const budget = <Money cents={task.maxBudgetCents} />;
  if (bid === undefined) {
    return (
      <Fact name="Budget">
        <strong className={styles.amount}>{budget}</strong>
      </Fact>
    );
  }
  return (
    <>
      <Fact name="Price">
        <strong className={styles.amount}>
          <Money cents={bid.priceCents} />
        </strong>
      </Fact>
      <Fact name="Budget">{budget}</Fact>
    </>
  );
}

/** For a visitor. */
function Invitation() {
  const { href } = useLocation();
  return (
    <div className={styles.actions}>
      <p className={styles.quiet}>Sign in to bid or to ask, and to see who posted it.</p>
      <ButtonLink to="/sign-in" search={{ to: href }} look="primary">
        Sign in
      </ButtonLink>
      <Link to="/sign-up" search={{ to: href }}>
        Create an account
      </Link>
    </div>
  );
}
