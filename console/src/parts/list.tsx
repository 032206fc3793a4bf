import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import styles from "./list.module.css";
import { Problem } from "./problem.tsx";
import { Loading } from "./states.tsx";

interface PagesProps<Data> {
  query: UseInfiniteQueryResult<Data>;
  /** Shown when there is nothing. */
  empty: ReactNode;
  isEmpty: (data: Data) => boolean;
  children: (data: Data) => ReactNode;
  more?: string;
}

/** A list that is read page by page: while it loads, when it is empty, when it fails, and with a button for the next page. */
export function Pages<Data>({ query, empty, isEmpty, children, more = "Show more" }: PagesProps<Data>) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  if (data === undefined) {
    if (error === null) return <Loading />;
    return (
      <div className={styles.failed}>
        <Problem error={error} />
        <Button onClick={() => refetch()}>Try again</Button>
      </div>
    );
  }
  if (isEmpty(data)) return empty;
  return (
    <>
      {children(data)}
      {error !== null && <Problem error={error} />}
      {hasNextPage && (
        <div className={styles.more}>
          <Button busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
            {more}
          </Button>
        </div>
      )}
    </>
  );
}

/** The rows of a list, with a line between them. */
export function Rows({ children, label }: { children: ReactNode; label?: string }) {
  return (
    <ul className={styles.rows} aria-label={label}>
      {children}
    </ul>
  );
}

/** Names and their values, one below the other. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className={styles.facts}>{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
