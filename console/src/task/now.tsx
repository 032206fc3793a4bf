import { lazy, Suspense } from "react";
import type { Bid, Delivery, Task, TaskPage } from "../api/client.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Section } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { awardedBidOf, can } from "./access.ts";
import { Accept, OpenDispute } from "./decisions.tsx";
import styles from "./now.module.css";
import { WhatNow } from "./whatNow.tsx";

// Only bidders load it.
const Upload = lazy(() => import("./upload.tsx").then((file) => ({ default: file.Upload })));

// Only where there are some, and at the end.
const File = lazy(() => import("./files.tsx").then((file) => ({ default: file.File })));
const Rate = lazy(() => import("./ratings.tsx").then((file) => ({ default: file.Rate })));
// Only where a buyer may ask for changes.
const AskForChanges = lazy(() => import("./changes.tsx").then((file) => ({ default: file.AskForChanges })));
const DeclineChanges = lazy(() => import("./changes.tsx").then((file) => ({ default: file.DeclineChanges })));
// Only where something is or may be agreed on.
const Proposal = lazy(() => import("./agreements.tsx").then((file) => ({ default: file.Proposal })));
const Proposals = lazy(() => import("./agreements.tsx").then((file) => ({ default: file.Proposals })));
const OtherWays = lazy(() => import("./propose.tsx").then((file) => ({ default: file.OtherWays })));
const ChangesAsked = lazy(() => import("./changes.tsx").then((file) => ({ default: file.ChangesAsked })));

interface NowProps {
  page: TaskPage;
  task: Task;
  userId: string;
}

/** What happens next, above everything else: the decision about a delivery, or the place to deliver. */
export function Now({ page, task, userId }: NowProps) {
  const { deliveries = [], dispute } = page;
  const bid = awardedBidOf(page, task);
  const isBuyer = task.buyer.id === userId;
  const isBidder = bid?.bidder.id === userId;
  const isParty = isBuyer || isBidder;
  const sides = bid && { task, bid, side: isBuyer ? ("buyer" as const) : isBidder ? ("bidder" as const) : null };
  const [canPropose, canGiveBack] = [can(page, "agreements.propose"), can(page, "bids.giveBack")];
  return (
    <>
      {isParty && <WhatNow page={page} task={task} bid={bid} isBuyer={isBuyer} />}
      <Suspense>{task.changes && <ChangesAsked task={task} changes={task.changes} />}</Suspense>
      <Suspense>{sides && page.agreement && <Proposal page={page} agreement={page.agreement} {...sides} />}</Suspense>
      {bid && <Decision page={page} task={task} bid={bid} />}
      {can(page, "disputes.resolve") && dispute && (
        <div>
          <ButtonLink to="/moderation/disputes/$disputeId" params={{ disputeId: dispute.id }} look="primary">
            Decide this dispute
          </ButtonLink>
        </div>
      )}
      {bid && can(page, "bids.deliveryInit") && (
        <Section title={task.changes ? "Deliver again" : "Deliver"}>
          <Suspense>
            <Upload bidId={bid.id} target="delivery" />
            {can(page, "tasks.declineChanges") && (
              <div>
                <DeclineChanges task={task} />
              </div>
            )}
          </Suspense>
        </Section>
      )}
      <Suspense>
        {can(page, "tasks.rate") && bid && (
          <Rate task={task} ratee={isBuyer ? bid.bidder.displayName : task.buyer.displayName} />
        )}
      </Suspense>
      {deliveries.length > 0 && <Deliveries deliveries={deliveries} />}
      <Samples page={page} bid={bid} />
      <Suspense>
        {sides && (canPropose || canGiveBack) && (
          <OtherWays canPropose={canPropose} canGiveBack={canGiveBack} {...sides} />
        )}
        {(isParty || dispute) && bid && <Proposals taskId={task.id} isOpen={task.closedBecause === "agreed"} />}
      </Suspense>
    </>
  );
}

/** The delivery, or all its versions, the newest first. */
function Deliveries({ deliveries }: { deliveries: readonly Delivery[] }) {
  return (
    <Section title={deliveries.length === 1 ? "Delivery" : "Versions of the delivery"}>
      <div className={styles.versions}>
        {deliveries.map((file, index) => (
          <div key={file.id}>
            {deliveries.length > 1 && <VersionOf file={file} number={deliveries.length - index} />}
            <Suspense>
              <File file={file} />
            </Suspense>
          </div>
        ))}
      </div>
    </Section>
  );
}

/** Which of several deliveries it is. */
function VersionOf({ file: { supersededAt }, number }: { file: Delivery; number: number }) {
  return (
    <p className={styles.version}>
      <b>Version {number}</b>{" "}
      {supersededAt === null ? (
        "counts"
      ) : (
        <>
          was replaced <Time at={supersededAt} />
        </>
      )}
    </p>
  );
}

/** The buttons that decide about a delivery. */
function Decision({ page, task, bid }: { page: TaskPage; task: Task; bid: Bid }) {
  const [canAccept, canDispute] = [can(page, "tasks.accept"), can(page, "tasks.dispute")];
  const canAsk = can(page, "tasks.requestChanges") && task.revisionsUsed < task.revisions;
  if (!canAccept && !canDispute) return null;
  return (
    <div className={styles.actions}>
      {canAccept && <Accept task={task} bid={bid} />}
      <Suspense>{canAsk && <AskForChanges task={task} />}</Suspense>
      {canDispute && <OpenDispute task={task} bid={bid} />}
    </div>
  );
}

function Samples({ page, bid }: { page: TaskPage; bid: Bid | undefined }) {
  const { samples = [] } = page;
  const target = bid !== undefined && can(page, "bids.sampleInit") ? bid : null;
  if (samples.length === 0 && target === null) return null;
  return (
    <Section title="Samples">
      <Suspense>
        {samples.map((file) => (
          <File key={file.id} file={file} />
        ))}
      </Suspense>
      <Suspense>{target && <Upload bidId={target.id} target="sample" />}</Suspense>
    </Section>
  );
}
