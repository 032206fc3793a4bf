import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import type { Bid } from "../api/client.ts";
import { ownBidsQuery, ownTasksQuery, taskQuery } from "../api/queries.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ButtonLink } from "../parts/button.tsx";
import { formatHours } from "../parts/format.ts";
import { Pages, Rows } from "../parts/list.tsx";
import { Money } from "../parts/money.tsx";
import { Page } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";
import { Tabs, tabProps } from "../parts/tabs.tsx";
import { TaskRow } from "../parts/taskRow.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./work.module.css";

export function Work() {
  const { show } = useSearch({ from: "/_signedIn/work" });
  return (
    <Page title="My work">
      <Tabs label="My work">
        <Link {...tabProps} to="/work" search={{}} activeOptions={{ exact: true, explicitUndefined: true }}>
          I posted
        </Link>
        <Link {...tabProps} to="/work" search={{ show: "awarded" }}>
          I was awarded
        </Link>
        <Link {...tabProps} to="/work" search={{ show: "bids" }}>
          I bid on
        </Link>
      </Tabs>
      {show === "bids" ? <OwnBids /> : <OwnTasks key={show} role={show === "awarded" ? "bidder" : "buyer"} />}
    </Page>
  );
}

function OwnTasks({ role }: { role: "buyer" | "bidder" }) {
  const tasks = useInfiniteQuery(ownTasksQuery(role));
  const empty =
    role === "buyer" ? (
      <Empty title="You have not posted a task yet" action={<ButtonLink to="/post">Post a task</ButtonLink>}>
        Its budget is held while it is open, and returns if you cancel it.
      </Empty>
    ) : (
      <Empty title="You were not awarded a task yet" action={<ButtonLink to="/tasks">Browse tasks</ButtonLink>}>
        Bid on open tasks. When a buyer chooses you, the task appears here.
      </Empty>
    );
  return (
    <Pages query={tasks} isEmpty={({ pages }) => pages[0]?.tasks.length === 0} empty={empty}>
      {({ pages }) => (
        <Rows label="Tasks">
          {pages.flatMap((page) => page.tasks.map((task) => <TaskRow key={task.id} task={task} />))}
        </Rows>
      )}
    </Pages>
  );
}

function OwnBids() {
  const bids = useInfiniteQuery(ownBidsQuery());
  return (
    <Pages
      query={bids}
      isEmpty={({ pages }) => pages[0]?.bids.length === 0}
      empty={<Empty title="You have not bid yet" action={<ButtonLink to="/tasks">Browse tasks</ButtonLink>} />}
    >
      {({ pages }) => (
        <Rows label="Bids">{pages.flatMap((page) => page.bids.map((bid) => <BidRow key={bid.id} bid={bid} />))}</Rows>
      )}
    </Pages>
  );
}

/** Lists of bids have no titles: the tasks are read as well, together in a batch. */
function BidRow({ bid }: { bid: Bid }) {
  const { data } = useQuery({ ...taskQuery(bid.taskId), staleTime: 60_000 });
  return (
    <li className={styles.bid}>
      <div className={styles.what}>
        <Link to="/tasks/$taskId" params={{ taskId: bid.taskId }} dir="auto">
          {data?.task.title ?? "…"}
        </Link>
        <div className={styles.meta}>
          <StatusBadge status={bid.status} />
          <span>
            placed <Time at={bid.createdAt} />
          </span>
          <span>{formatHours(bid.etaHours)}</span>
          {bid.taskEditedAt !== null && <span>the task was changed since</span>}
        </div>
      </div>
      <strong>
        <Money cents={bid.priceCents} />
      </strong>
    </li>
  );
}
