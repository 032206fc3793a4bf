import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { failureOf } from "../api/client.ts";
import { Button, ButtonLink } from "./button.tsx";
import { Page } from "./page.tsx";
import { Problem } from "./problem.tsx";
import styles from "./states.module.css";

/** Where a list or a page has nothing to show yet: what would be here, and how it gets here. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <p className={styles.title}>{title}</p>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** Grey lines in place of what is being read. */
export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div className={styles.loading} role="status">
      <span className="visually-hidden">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} aria-hidden="true" />
      ))}
    </div>
  );
}

export function LoadingPage() {
  return (
    <div className={styles.page}>
      <Loading />
    </div>
  );
}

export function NotFoundPage() {
  return (
    <Page title="Not found" lead="It does not exist, or it is not for you to see.">
      <div>
        <ButtonLink to="/tasks">Browse the open tasks</ButtonLink>
      </div>
    </Page>
  );
}

/** In place of a page that could not be read. */
export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const failure = failureOf(error);
  if (failure?.error === "not_found" || isWrongId(failure)) return <NotFoundPage />;
  const again = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Page title="This page could not be loaded">
      <Problem error={error} />
      <div>
        <Button look="primary" onClick={again}>
          Try again
        </Button>{" "}
        <Link to="/">Home</Link>
      </div>
    </Page>
  );
}

/** An address with something else in place of an id. */
const isWrongId = (failure: ReturnType<typeof failureOf>) =>
  failure?.error === "invalid_input" && failure.issues?.every(({ path }) => path === "id") === true;
