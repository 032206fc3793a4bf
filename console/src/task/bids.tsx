import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Bid, type Task } from "../api/client.ts";
import { reputationQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { formatHours, formatMoney } from "../parts/format.ts";
import { Money, MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Person } from "../parts/person.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { BidNotes } from "./bidNotes.tsx";
import styles from "./bids.module.css";

type Order = "price" | "time" | "rating";

/** All bids of a task for its buyer, to compare and to choose from. */
export function Bids({ task, bids, canAward }: { task: Task; bids: readonly Bid[]; canAward: boolean }) {
  const [order, setOrder] = useState<Order>("price");
  const reputations = useQueries({ queries: bids.map(({ bidder }) => reputationQuery(bidder.id)) });
  const ratingOf = (bid: Bid) => reputations[bids.indexOf(bid)]?.data?.bidder?.ratingAverage ?? 0;
  const value: Record<Order, (bid: Bid) => number> = {
    price: ({ priceCents }) => priceCents,
    time: ({ etaHours }) => etaHours,
    rating: (bid) => -ratingOf(bid),
  };
  const rank = ({ status }: Bid) => (status === "awarded" ? 0 : status === "active" ? 1 : 2);
  const sorted = bids.toSorted((a, b) => rank(a) - rank(b) || value[order](a) - value[order](b));
  const heading = (by: Order, text: string) => (
    <th scope="col" aria-sort={order === by ? (by === "rating" ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => setOrder(by)}>
        {text}
        <span aria-hidden="true">{order === by ? (by === "rating" ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
  if (bids.length === 0) {
    return (
      <Section title="Bids">
        <Empty title="No bids yet">
          They appear here as they arrive. Tasks with a clear description get more of them.
        </Empty>
      </Section>
    );
  }
  return (
    <Section title="Bids" lead="The best by the column that you choose comes first.">
      <table className={styles.table}>
        <thead>
          <tr>
            {heading("rating", "Bidder")}
            {heading("price", "Price")}
            {heading("time", "Time")}
            <th scope="col">Placed</th>
            <th scope="col">
              <span className="visually-hidden">Decision</span>
            </th>
          </tr>
        </thead>
        {sorted.map((bid) => (
          <tbody key={bid.id}>
            <tr>
              <td data-label="Bidder">
                <Person person={bid.bidder} as="bidder" />
              </td>
              <td data-label="Price" className={styles.price}>
                <Money cents={bid.priceCents} />
              </td>
              <td data-label="Time">{formatHours(bid.etaHours)}</td>
              <td data-label="Placed">
                <Time at={bid.createdAt} />
              </td>
              <td className={styles.decision}>
                {bid.status === "active" && canAward ? (
                  <Award task={task} bid={bid} />
                ) : (
                  <StatusBadge status={bid.status} />
                )}
              </td>
            </tr>
            {(bid.notes !== null || bid.taskEditedAt !== null) && (
              <tr className={styles.notes}>
                <td colSpan={5}>
                  <BidNotes bid={bid} />
                  {bid.taskEditedAt !== null && (
                    <Notice kind="warn">
                      You changed the task <Time at={bid.taskEditedAt} />, after this bid was placed.
                    </Notice>
                  )}
                </td>
              </tr>
            )}
          </tbody>
        ))}
      </table>
    </Section>
  );
}

/** Awards the task to a bid at the price that was seen: if it has changed meanwhile, nothing happens. */
function Award({ task, bid }: { task: Task; bid: Bid }) {
  const award = useAction("tasks.award", api.tasks.award.mutate);
  return (
    <Confirm
      button="Award"
      look="primary"
      size="small"
      title={`Award the task to ${bid.bidder.displayName}?`}
      confirm={`Award for ${formatMoney(bid.priceCents)}`}
      action={award}
      operation="tasks.award"
      read={() => ({ id: task.id, bidId: bid.id, expectedPriceCents: bid.priceCents })}
    >
      <MoneyPreview
        lines={[
          { label: "Held now", cents: task.maxBudgetCents },
          { label: "Returns to your available balance", cents: task.maxBudgetCents - bid.priceCents },
          { label: "Stays held for this task", cents: bid.priceCents },
        ]}
        note={`The work is due ${formatHours(bid.etaHours)} from now. Nothing is paid before you accept the delivery. All other bids are turned down.`}
      />
    </Confirm>
  );
}
