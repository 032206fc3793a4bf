import type { ReactNode } from "react";
import styles from "./notice.module.css";

interface NoticeProps {
  kind?: "info" | "good" | "warn" | "bad";
  title?: string;
  /** Read out as soon as it appears. */
  alert?: boolean;
  children?: ReactNode;
}

/** A remark about what is on the page, or about what just happened. */
export function Notice({ kind = "info", title, alert = false, children }: NoticeProps) {
  return (
    <div className={`${styles.notice} ${styles[kind]}`} role={alert ? "alert" : undefined}>
      {title !== undefined && <strong>{title}</strong>}
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}
