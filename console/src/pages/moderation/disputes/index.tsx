import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import type { DisputeItem } from "../../../api/client.ts";
import { disputesQuery } from "../../../api/queries.ts";
import { Pages, Rows } from "../../../parts/list.tsx";
import { Money } from "../../../parts/money.tsx";
import { Page } from "../../../parts/page.tsx";
import { Empty } from "../../../parts/states.tsx";
import { Tabs, tabProps } from "../../../parts/tabs.tsx";
import { Time } from "../../../parts/time.tsx";
import styles from "../moderation.module.css";

export function Disputes() {
  const { status } = useSearch({ from: "/_signedIn/moderation/disputes" });
  const disputes = useInfiniteQuery(disputesQuery(status ?? "open"));
  return (
    <Page title="Disputes" lead="The oldest first: somebody's money waits for each of them.">
      <Tabs label="Disputes by status">
        <Link
          {...tabProps}
          to="/moderation/disputes"
          search={{}}
          activeOptions={{ exact: true, explicitUndefined: true }}
        >
          Open
        </Link>
        <Link {...tabProps} to="/moderation/disputes" search={{ status: "resolved" }}>
          Decided
        </Link>
      </Tabs>
      <Pages
        query={disputes}
        isEmpty={({ pages }) => pages[0]?.disputes.length === 0}
        empty={<Empty title={status ? "Nothing was decided yet" : "No disputes are open"} />}
      >
        {({ pages }) => (
          <Rows label="Disputes">
            {pages.flatMap((page) => page.disputes.map((item) => <DisputeRow key={item.id} item={item} />))}
          </Rows>
        )}
      </Pages>
    </Page>
  );
}

function DisputeRow({ item }: { item: DisputeItem }) {
  const { id, task, buyer, bidder, openedBy, reason, priceCents, createdAt } = item;
  return (
    <li className={styles.row}>
      <div>
        <Link to="/moderation/disputes/$disputeId" params={{ disputeId: id }} className={styles.title} dir="auto">
          {task.title}
        </Link>
        <p className={styles.meta}>
          opened by the {openedBy} <Time at={createdAt} />: <bdi>{buyer.displayName}</bdi> and{" "}
          <bdi>{bidder.displayName}</bdi>
        </p>
        <p className={styles.excerpt} dir="auto">
          {reason}
        </p>
      </div>
      <strong>
        <Money cents={priceCents} />
      </strong>
    </li>
  );
}
