import { lazy, Suspense, useState } from "react";
import type { Bid, Task, TaskPage } from "../api/client.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Section } from "../parts/page.tsx";
import { awardedBidOf, can } from "./access.ts";
import type { Sides } from "./agreements.tsx";
import styles from "./now.module.css";

// Only bidders load it.
const Upload = lazy(() => import("./upload.tsx").then((file) => ({ default: file.Upload })));

// Only where there are some, and at the end.
const File = lazy(() => import("./files.tsx").then((file) => ({ default: file.File })));
const Rate = lazy(() => import("./ratings.tsx").then((file) => ({ default: file.Rate })));
// Only for the two sides, from the award on.
const WhatNow = lazy(() => import("./whatNow.tsx").then((file) => ({ default: file.WhatNow })));
// Only where something was delivered.
const Decision = lazy(() => import("./delivered.tsx").then((file) => ({ default: file.Decision })));
const Deliveries = lazy(() => import("./delivered.tsx").then((file) => ({ default: file.Deliveries })));
// Only in a round of changes.
const DeclineChanges = lazy(() => import("./changes.tsx").then((file) => ({ default: file.DeclineChanges })));
// Only where something is or may be agreed on.
const Proposal = lazy(() => import("./agreements.tsx").then((file) => ({ default: file.Proposal })));
const OtherWays = lazy(() => import("./propose.tsx").then((file) => ({ default: file.OtherWays })));
// Only for a buyer whose own program reports.
const EndedKeys = lazy(() => import("../checks/changeKey.tsx").then((file) => ({ default: file.EndedKeys })));
const ChangesAsked = lazy(() => import("./changes.tsx").then((file) => ({ default: file.ChangesAsked })));

interface NowProps {
  page: TaskPage;
  task: Task;
  userId: string;
}

/** What happens next after an award, above everything else: the decision about a delivery, or the place to deliver. */
export function Now({ page, task, userId }: NowProps) {
  const { deliveries = [], dispute } = page;
  const bid = awardedBidOf(page, task);
  const isBuyer = task.buyer.id === userId;
  const isBidder = bid?.bidder.id === userId;
  const isParty = isBuyer || isBidder;
  const sides = bid && { task, bid, side: isBuyer ? ("buyer" as const) : isBidder ? ("bidder" as const) : null };
  return (
    <>
      <Suspense>{isParty && <WhatNow page={page} task={task} bid={bid} isBuyer={isBuyer} />}</Suspense>
      <Suspense>{can(page, "tasks.setCheckKey") && <EndedKeys task={task} />}</Suspense>
      <Suspense>{task.changes && <ChangesAsked task={task} changes={task.changes} />}</Suspense>
      <Suspense>{sides && page.agreement && <Proposal page={page} agreement={page.agreement} {...sides} />}</Suspense>
      <Suspense>{bid && task.status === "delivered" && <Decision page={page} task={task} bid={bid} />}</Suspense>
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
            <Upload bidId={bid.id} target="delivery" checks={task.checks} />
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
      <Suspense>{deliveries.length > 0 && <Deliveries deliveries={deliveries} checks={task.checks} />}</Suspense>
      <Samples page={page} bid={bid} />
      {sides && (isParty || dispute) && <Agreeing page={page} {...sides} />}
    </>
  );
}

/** What both sides may agree on and have agreed on. Few need it, and its files are loaded when they open it. */
function Agreeing({ page, ...sides }: Sides & { page: TaskPage }) {
  const [isUnfolded, unfold] = useState<boolean | null>(null);
  const isOpen = isUnfolded ?? sides.task.closedBecause === "agreed";
  const [canPropose, canGiveBack] = [can(page, "agreements.propose"), can(page, "bids.giveBack")];
  const isOver = !canPropose && !canGiveBack;
  return (
    <details className={styles.more} open={isOpen} onToggle={(event) => unfold(event.currentTarget.open)}>
      <summary>{isOver ? "What was proposed" : "If it turns out differently"}</summary>
      <Suspense>{isOpen && <OtherWays canPropose={canPropose} canGiveBack={canGiveBack} {...sides} />}</Suspense>
    </details>
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
