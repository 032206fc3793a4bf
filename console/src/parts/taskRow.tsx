import { Link } from "@tanstack/react-router";
import type { TaskItem } from "../api/client.ts";
import { StatusBadge } from "./badge.tsx";
import { plural } from "./format.ts";
import { Money } from "./money.tsx";
import styles from "./taskRow.module.css";
import { Time } from "./time.tsx";

/** A task in a list. Its status is left out where all have the same. */
export function TaskRow({ task, showStatus = true }: { task: TaskItem; showStatus?: boolean }) {
  const { id, title, tags, status, bidCount, maxBudgetCents, createdAt } = task;
  return (
    <li className={styles.row}>
      <div className={styles.what}>
        <Link to="/tasks/$taskId" params={{ taskId: id }} className={styles.title} dir="auto">
          {title}
        </Link>
        <div className={styles.details}>
          <div className={styles.meta}>
            {showStatus && <StatusBadge status={status} />}
            <Time at={createdAt} />
            <span>{bidCount === 0 ? "no bids yet" : plural(bidCount, "bid")}</span>
          </div>
          <Tags tags={tags} />
        </div>
      </div>
      <div className={styles.budget}>
        <Money cents={maxBudgetCents} />
        <small>at most</small>
      </div>
    </li>
  );
}

/** A task's tags, each a link to the open tasks that have it. */
export function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <ul className={styles.tags} aria-label="Tags">
      {tags.map((tag) => (
        <li key={tag}>
          <Link to="/tasks" search={{ tag }} className={styles.tag}>
            <bdi>{tag}</bdi>
          </Link>
        </li>
      ))}
    </ul>
  );
}
