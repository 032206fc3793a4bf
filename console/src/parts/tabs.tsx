import type { ReactNode } from "react";
import styles from "./tabs.module.css";

/** Links to the parts of one place. The links are the children. */
export function Tabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav className={styles.tabs} aria-label={label}>
      {children}
    </nav>
  );
}

/** What a link among tabs needs to show that it is the current one. */
export const tabProps = { className: styles.tab, activeProps: { className: styles.active } } as const;
