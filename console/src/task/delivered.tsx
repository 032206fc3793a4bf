import { lazy, Suspense } from "react";
import { api, type Bid, type Check, type Delivery, type Task, type TaskPage } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { limitsOf } from "../limits.ts";
import { Confirm } from "../parts/confirm.tsx";
import { TextArea } from "../parts/fields.tsx";
import { formatMoney } from "../parts/format.ts";
import { MoneyPreview } from "../parts/money.tsx";
import { Section } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { can } from "./access.ts";
import { File } from "./files.tsx";
import styles from "./now.module.css";

// Only in a dialog.
const FeeNote = lazy(() => import("./feeNote.tsx").then((file) => ({ default: file.FeeNote })));
// Only where checks were agreed on.
const Checklist = lazy(() => import("../checks/checklist.tsx").then((file) => ({ default: file.Checklist })));
// Only where a buyer may ask for changes.
const AskForChanges = lazy(() => import("./changes.tsx").then((file) => ({ default: file.AskForChanges })));

/** The buttons that decide about a delivery. */
export function Decision({ page, task, bid }: { page: TaskPage; task: Task; bid: Bid }) {
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

/** The buyer's decision about a delivery: pay for it. */
function Accept({ task, bid }: { task: Task; bid: Bid }) {
  const accept = useAction("tasks.accept", api.tasks.accept.mutate);
  return (
    <Confirm
      button="Accept and pay"
      look="primary"
      title="Accept the delivery?"
      confirm={`Pay ${formatMoney(bid.priceCents)}`}
      action={accept}
      operation="tasks.accept"
      read={() => ({ id: task.id })}
    >
      <MoneyPreview
        lines={[{ label: `${bid.bidder.displayName} is paid, from what is held`, cents: bid.priceCents }]}
        note="This is final. There is no dispute after it."
      />
      <Suspense>
        <FeeNote />
      </Suspense>
    </Confirm>
  );
}

/** Either side's objection to a delivery or to its rejection. */
function OpenDispute({ task, bid }: { task: Task; bid: Bid }) {
  const dispute = useAction("tasks.dispute", api.tasks.dispute.mutate);
  return (
    <Confirm
      button="Open a dispute"
      look="danger"
      title="Open a dispute?"
      confirm="Open the dispute"
      action={dispute}
      operation="tasks.dispute"
      read={(fields) => ({ id: task.id, reason: fields.text("reason") })}
    >
      <MoneyPreview
        lines={[{ label: "Stays held until a moderator has decided", cents: bid.priceCents }]}
        note="A moderator reads what both sides have written, looks at the files, and returns, pays or divides the money."
      />
      <TextArea
        name="reason"
        label="What is wrong?"
        hint={`The other side and the moderators read this. At least ${limitsOf("tasks.dispute", "reason").minLength} characters.`}
        rows={5}
      />
    </Confirm>
  );
}

/** The delivery, or all its versions, the newest first. */
export function Deliveries({ deliveries, checks }: { deliveries: readonly Delivery[]; checks: readonly Check[] }) {
  return (
    <Section title={deliveries.length === 1 ? "Delivery" : "Versions of the delivery"}>
      <div className={styles.versions}>
        {deliveries.map((file, index) => (
          <div key={file.id}>
            {deliveries.length > 1 && <VersionOf file={file} number={deliveries.length - index} />}
            <Suspense>{file.checks.length > 0 && <Checklist results={file.checks} checks={checks} />}</Suspense>
            <File file={file} />
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
