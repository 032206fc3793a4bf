import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { isWhole, type Task, type TaskPage } from "../../api/client.ts";
import { pollWithoutEvents } from "../../api/live.ts";
import { meQuery, taskQuery } from "../../api/queries.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { LongText } from "../../parts/longText.tsx";
import { Columns, Page, Section } from "../../parts/page.tsx";
import { Tags } from "../../parts/taskRow.tsx";
import { Time } from "../../parts/time.tsx";
import { awardedBidOf, can } from "../../task/access.ts";
import { Bids } from "../../task/bids.tsx";
import { Talk } from "../../task/talk.tsx";
import { TaskSide } from "../../task/taskSide.tsx";
import { WhileOpen } from "../../task/whileOpen.tsx";
import styles from "./task.module.css";

// Only bidders load these.
const OwnBid = lazy(() => import("../../task/bidForm.tsx").then((file) => ({ default: file.OwnBid })));
const PlaceBid = lazy(() => import("../../task/bidForm.tsx").then((file) => ({ default: file.PlaceBid })));
// From the award on.
const Now = lazy(() => import("../../task/now.tsx").then((file) => ({ default: file.Now })));
// Most tasks have none of these.
const DisputeState = lazy(() => import("../../task/dispute.tsx").then((file) => ({ default: file.DisputeState })));
const Ratings = lazy(() => import("../../task/ratings.tsx").then((file) => ({ default: file.Ratings })));
const BriefFiles = lazy(() => import("../../task/briefFiles.tsx").then((file) => ({ default: file.BriefFiles })));
const AgreedChecks = lazy(() =>
  import("../../checks/agreedChecks.tsx").then((file) => ({ default: file.AgreedChecks })),
);
const Questions = lazy(() => import("../../task/questions.tsx").then((file) => ({ default: file.Questions })));

/** Addresses of files work for 15 minutes, and this page has them. */
const REFRESH_MS = 600_000;

/** A task: what to do now, what it is about, and what came of it. On a phone in this order, too. */
export function ReadTask() {
  const { taskId } = useParams({ from: "/tasks/$taskId" });
  const { data } = useSuspenseQuery({ ...taskQuery(taskId), refetchInterval: pollWithoutEvents(REFRESH_MS) });
  const { data: me } = useQuery(meQuery);
  const { task } = data;
  const full = isWhole(task) ? task : null;
  const userId = me?.user.id ?? null;
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
      <Columns
        first={full && userId !== null && <First page={data} task={full} userId={userId} />}
        side={
          <>
            <TaskSide page={data} full={full} userId={userId} />
            {full && userId !== null && <Talk page={data} task={full} userId={userId} />}
          </>
        }
      >
        <Suspense>
          {data.dispute && (
            <DisputeState dispute={data.dispute}>
              <Link to="/disputes/$disputeId" params={{ disputeId: data.dispute.id }}>
                See what it is decided by
              </Link>
            </DisputeState>
          )}
        </Suspense>
        <Section title="Description">
          <LongText text={task.description} />
        </Section>
        {full?.acceptanceCriteria && (
          <Section title="It is accepted when">
            <LongText text={full.acceptanceCriteria} />
          </Section>
        )}
        <Suspense>{full && full.checks.length > 0 && <AgreedChecks task={full} />}</Suspense>
        <Tags tags={task.tags} />
        {full && <Files page={data} />}
        <Suspense>
          {(data.questionCount > 0 || can(data, "tasks.ask")) && (
            <Questions page={data} isModerator={me?.role === "moderator"} />
          )}
        </Suspense>
        {full && <Rest page={data} task={full} userId={userId ?? ""} />}
      </Columns>
    </Page>
  );
}

/** What there is to do. */
function First(props: { page: TaskPage; task: Task; userId: string }) {
  const { page, task, userId } = props;
  if (task.status === "open") return task.buyer.id === userId && <WhileOpen page={page} task={task} />;
  return (
    <Suspense>
      <Now {...props} />
    </Suspense>
  );
}

/** The files of the brief; while there are none, a button for its buyer, so that what adds them is loaded when it is used. */
function Files({ page }: { page: TaskPage }) {
  const [isAdding, setAdding] = useState(false);
  if (page.fileCount > 0 || isAdding) {
    return (
      <Suspense>
        <BriefFiles page={page} />
      </Suspense>
    );
  }
  if (!can(page, "tasks.fileInit")) return null;
  return (
    <div>
      <Button size="small" onClick={() => setAdding(true)}>
        Add files
      </Button>
    </div>
  );
}

/** Bids and ratings. */
function Rest({ page, task, userId }: { page: TaskPage; task: Task; userId: string }) {
  const { bids = [], ratings = [] } = page;
  const own = bids.filter(({ bidder }) => bidder.id === userId);
  // The one that counts; those that were withdrawn before it do not.
  const [current = own[0]] = own.filter(({ status }) => status === "active" || status === "awarded");
  const canPlace = can(page, "bids.place");
  return (
    <>
      <Suspense>
        {ratings.length > 0 && <Ratings ratings={ratings} task={task} bid={awardedBidOf(page, task)} />}
      </Suspense>
      {task.buyer.id === userId && <Bids task={task} first={bids} canAward={can(page, "tasks.award")} />}
      <Suspense>
        {current && !(canPlace && current.status === "withdrawn") && (
          <OwnBid
            task={task}
            bid={current}
            canUpdate={can(page, "bids.update")}
            canWithdraw={can(page, "bids.withdraw")}
          />
        )}
        {canPlace && <PlaceBid task={task} />}
      </Suspense>
    </>
  );
}
