import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api, type Bid, type Task } from "../api/client.ts";
import { reputationQuery, taskBidsQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { formatHours, formatMoney, formatNumber, plural } from "../parts/format.ts";
import { Money, MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Person } from "../parts/person.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { BidNotes } from "./bidNotes.tsx";
import styles from "./bids.module.css";

// Only in a dialog.
const FeeNote = lazy(() => import("./feeNote.tsx").then((file) => ({ default: file.FeeNote })));

type Order = "price" | "time" | "rating";

interface BidsProps {
  task: Task;
  /** Those that came with the task: at most 100, the active ones first. */
  first: readonly Bid[];
  canAward: boolean;
}

/** A task comes with this many of its bids (docs/contract.md "Records"); the others are read page by page. */
const BIDS_WITH_TASK = 100;

/** All bids of a task for its buyer, to compare and to choose from. */
export function Bids({ task, first, canAward }: BidsProps) {
  const others = useInfiniteQuery({ ...taskBidsQuery(task.id), enabled: first.length >= BIDS_WITH_TASK });
  const read = others.data?.pages.flatMap((page) => page.bids) ?? [];
  const bids = [...new Map([...read, ...first].map((bid) => [bid.id, bid])).values()];
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
    <Section title="Bids" id="bids" lead={canAward ? "The best comes first, by what you choose." : undefined}>
      <Comparison task={task} bids={bids} canAward={canAward} />
      {others.hasNextPage && (
        <div className={styles.more}>
          <p>
            {formatNumber(bids.length)} of {plural(task.bidCount, "bid")} are compared so far.
          </p>
          <Button busy={others.isFetchingNextPage} onClick={() => others.fetchNextPage()}>
            Read more bids
          </Button>
        </div>
      )}
    </Section>
  );
}

/** Returns the bids with the best first, and how to change what is best. */
function useOrder(bids: readonly Bid[]) {
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
  return { sorted, order, setOrder };
}

function Comparison({ task, bids, canAward }: { task: Task; bids: readonly Bid[]; canAward: boolean }) {
  const { sorted, order, setOrder } = useOrder(bids);
  const heading = (by: Order, text: string) => (
    <th scope="col" aria-sort={order === by ? (by === "rating" ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => setOrder(by)}>
        {text}
        <span aria-hidden="true">{order === by ? (by === "rating" ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
  return (
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
        <ComparedBid key={bid.id} task={task} bid={bid} canAward={canAward} />
      ))}
    </table>
  );
}

function ComparedBid({ task, bid, canAward }: { task: Task; bid: Bid; canAward: boolean }) {
  return (
    <tbody>
      <tr>
        <td data-label="Bidder">
          <span>
            <Person person={bid.bidder} as="bidder" />{" "}
            {(bid.status === "active" || bid.status === "awarded") && (
              <Link to="/messages/$bidId" params={{ bidId: bid.id }}>
                Write<span className="visually-hidden"> to {bid.bidder.displayName}</span>
              </Link>
            )}
          </span>
        </td>
        <td data-label="Price" className={styles.price}>
          <Money cents={bid.priceCents} />
        </td>
        <td data-label="Time">{formatHours(bid.etaHours)}</td>
        <td data-label="Placed">
          <Time at={bid.createdAt} />
        </td>
        <td className={styles.decision}>
          {bid.status === "active" && canAward ? <Award task={task} bid={bid} /> : <StatusBadge status={bid.status} />}
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
      <Suspense>
        <FeeNote />
      </Suspense>
    </Confirm>
  );
}
