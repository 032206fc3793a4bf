import { api, type Bid, type Task } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { limitsOf } from "../limits.ts";
import { Confirm } from "../parts/confirm.tsx";
import { TextArea } from "../parts/fields.tsx";
import { formatMoney } from "../parts/format.ts";
import { MoneyPreview } from "../parts/money.tsx";
import { useFeeNote } from "./fee.ts";

/** The buyer's decision about an open task: giving it up. */
export function CancelTask({ task }: { task: Task }) {
  const cancel = useAction("tasks.cancel", api.tasks.cancel.mutate);
  return (
    <Confirm
      button="Cancel the task"
      look="danger"
      title="Cancel this task?"
      confirm="Cancel the task"
      action={cancel}
      operation="tasks.cancel"
      read={() => ({ id: task.id })}
    >
      <MoneyPreview
        lines={[{ label: "Returns to your available balance", cents: task.maxBudgetCents }]}
        note="All bids are turned down. A cancelled task cannot be opened again."
      />
    </Confirm>
  );
}

/** The buyer's decision about a delivery: pay for it. */
export function Accept({ task, bid }: { task: Task; bid: Bid }) {
  const accept = useAction("tasks.accept", api.tasks.accept.mutate);
  const feeNote = useFeeNote();
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
        note={`This is final. There is no dispute after it.${feeNote}`}
      />
    </Confirm>
  );
}

/** Either side's objection to a delivery or to its rejection. */
export function OpenDispute({ task, bid }: { task: Task; bid: Bid }) {
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
