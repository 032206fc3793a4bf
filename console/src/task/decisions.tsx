import { api, type Task } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { Confirm } from "../parts/confirm.tsx";
import { MoneyPreview } from "../parts/money.tsx";

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
