import { lazy, Suspense } from "react";
import type { Task, TaskPage } from "../api/client.ts";
import { formatMoney, plural } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { can } from "./access.ts";

// Only for a buyer whose own program reports.
const EndedKeys = lazy(() => import("../checks/changeKey.tsx").then((file) => ({ default: file.EndedKeys })));

/** What the buyer of an open task waits for. */
export function WhileOpen({ page, task }: { page: TaskPage; task: Task }) {
  return (
    <>
      <Waiting task={task} />
      <Suspense>{can(page, "tasks.setCheckKey") && <EndedKeys task={task} />}</Suspense>
    </>
  );
}

function Waiting({ task: { bidCount, maxBudgetCents } }: { task: Task }) {
  if (bidCount === 0) {
    return (
      <Notice kind="info" title="Waiting for bids">
        {formatMoney(maxBudgetCents)} stays held for it. Bids appear here as they arrive.
      </Notice>
    );
  }
  return (
    <Notice kind="info" title="It is your turn: choose a bid">
      You pay nothing before you accept a delivery. <a href="#bids">Compare {plural(bidCount, "bid")}</a>
    </Notice>
  );
}
