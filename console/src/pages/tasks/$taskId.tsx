import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useLocation, useParams } from "@tanstack/react-router";
import { isWhole, type Task, type TaskOperation, type TaskPage } from "../../api/client.ts";
import { pollWithoutEvents } from "../../api/live.ts";
import { meQuery, taskQuery } from "../../api/queries.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { ButtonLink } from "../../parts/button.tsx";
import { formatMinute, formatNumber } from "../../parts/format.ts";
import { Fact, Facts } from "../../parts/list.tsx";
import { LongText } from "../../parts/longText.tsx";
import { Money } from "../../parts/money.tsx";
import { Columns, Page, Section } from "../../parts/page.tsx";
import { Person } from "../../parts/person.tsx";
import { Tags } from "../../parts/taskRow.tsx";
import { Time } from "../../parts/time.tsx";
import { OwnBid, PlaceBid } from "../../task/bidForm.tsx";
import { Bids } from "../../task/bids.tsx";
import { Accept, CancelTask, DisputeState, OpenDispute, Rate, Ratings, WhatNow } from "../../task/decisions.tsx";
import { File } from "../../task/files.tsx";
import { Upload } from "../../task/upload.tsx";
import styles from "./task.module.css";

/** Addresses of files work for 15 minutes, and this page has them. */
const REFRESH_MS = 600_000;

export function ReadTask() {
  const { taskId } = useParams({ from: "/tasks/$taskId" });
  const { data } = useSuspenseQuery({ ...taskQuery(taskId), refetchInterval: pollWithoutEvents(REFRESH_MS) });
  const { data: me } = useQuery(meQuery);
  const { task } = data;
  const full = isWhole(task) ? task : null;
  return (
    <Page
      title={task.title}
      above={
        <div className={styles.above}>
          <StatusBadge status={task.status} />
          <span>
            posted <Time at={task.createdAt} />
          </span>
        </div>
      }
    >
      <Columns side={<Side page={data} full={full} userId={me?.user.id ?? null} />}>
        {full && <Now page={data} task={full} userId={me?.user.id ?? ""} />}
        <Section title="Description">
          <LongText text={task.description} />
        </Section>
        {full?.acceptanceCriteria && (
          <Section title="It is accepted when">
            <LongText text={full.acceptanceCriteria} />
          </Section>
        )}
        <Tags tags={task.tags} />
        {full && <Rest page={data} task={full} userId={me?.user.id ?? ""} />}
      </Columns>
    </Page>
  );
}

const can = ({ availableActions = [] }: TaskPage, operation: TaskOperation) => availableActions.includes(operation);
const awardedBidOf = ({ bids = [] }: TaskPage, task: Task) => bids.find(({ id }) => id === task.awardedBidId);

interface PartProps {
  page: TaskPage;
  task: Task;
  userId: string;
}

/** What happens next, above everything else: the delivery to judge, or the place to deliver. */
function Now({ page, task, userId }: PartProps) {
  const { samples = [], deliveries = [], dispute } = page;
  const bid = awardedBidOf(page, task);
  const isBuyer = task.buyer.id === userId;
  const isParty = isBuyer || bid?.bidder.id === userId;
  return (
    <>
      {isParty && <WhatNow task={task} bid={bid} isBuyer={isBuyer} />}
      {dispute && <DisputeState dispute={dispute} />}
      {deliveries.length > 0 && (
        <Section title="Delivery">
          {deliveries.map((file) => (
            <File key={file.id} file={file} />
          ))}
          {bid && (can(page, "tasks.accept") || can(page, "tasks.dispute")) && (
            <div className={styles.actions}>
              {can(page, "tasks.accept") && <Accept task={task} bid={bid} />}
              {can(page, "tasks.dispute") && <OpenDispute task={task} bid={bid} />}
            </div>
          )}
        </Section>
      )}
      {bid && can(page, "bids.deliveryInit") && (
        <Section title="Deliver">
          <Upload bidId={bid.id} target="delivery" />
        </Section>
      )}
      {can(page, "disputes.resolve") && dispute && (
        <div>
          <ButtonLink to="/moderation/disputes/$disputeId" params={{ disputeId: dispute.id }} look="primary">
            Decide this dispute
          </ButtonLink>
        </div>
      )}
      {can(page, "tasks.rate") && bid && (
        <Rate task={task} ratee={isBuyer ? bid.bidder.displayName : task.buyer.displayName} />
      )}
      {(samples.length > 0 || (bid && can(page, "bids.sampleInit"))) && (
        <Section title="Samples">
          {samples.map((file) => (
            <File key={file.id} file={file} />
          ))}
          {bid && can(page, "bids.sampleInit") && <Upload bidId={bid.id} target="sample" />}
        </Section>
      )}
    </>
  );
}

/** Bids and ratings. */
function Rest({ page, task, userId }: PartProps) {
  const { bids = [], ratings = [] } = page;
  const own = bids.filter(({ bidder }) => bidder.id === userId);
  // The one that counts; those that were withdrawn before it do not.
  const [current = own[0]] = own.filter(({ status }) => status === "active" || status === "awarded");
  const canPlace = can(page, "bids.place");
  return (
    <>
      {ratings.length > 0 && <Ratings ratings={ratings} task={task} bid={awardedBidOf(page, task)} />}
      {task.buyer.id === userId && <Bids task={task} first={bids} canAward={can(page, "tasks.award")} />}
      {current && !(canPlace && current.status === "withdrawn") && (
        <OwnBid
          task={task}
          bid={current}
          canUpdate={can(page, "bids.update")}
          canWithdraw={can(page, "bids.withdraw")}
        />
      )}
      {canPlace && <PlaceBid task={task} />}
    </>
  );
}

/** What the task is about in figures, and what its buyer can do with it. */
function Side({ page, full, userId }: { page: TaskPage; full: Task | null; userId: string | null }) {
  const { task } = page;
  const { href } = useLocation();
  const bid = full ? awardedBidOf(page, full) : undefined;
  return (
    <div className={styles.side}>
      <Facts>
        <Fact name="Budget">
          <strong className={styles.budget}>
            <Money cents={task.maxBudgetCents} />
          </strong>
        </Fact>
        {bid && (
          <Fact name="Awarded for">
            <Money cents={bid.priceCents} />
          </Fact>
        )}
        <Fact name="Bids">{task.bidCount === 0 ? "none yet" : formatNumber(task.bidCount)}</Fact>
        {full && (
          <Fact name="Buyer">
            <Person person={full.buyer} as="buyer" />
          </Fact>
        )}
        {full?.deliveryDueAt && <Fact name="Due">{formatMinute(full.deliveryDueAt)}</Fact>}
      </Facts>
      {userId === null && (
        <div className={styles.actions}>
          <p className={styles.quiet}>Sign in to bid, and to see who posted it.</p>
          <ButtonLink to="/sign-in" search={{ to: href }} look="primary">
            Sign in
          </ButtonLink>
          <Link to="/sign-up" search={{ to: href }}>
            Create an account
          </Link>
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
