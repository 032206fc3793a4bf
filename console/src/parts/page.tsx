import { type ReactNode, useEffect, useRef } from "react";
import styles from "./page.module.css";
import { setPageTitle } from "./windowTitle.ts";

interface PageProps {
  title: string;
  /** A sentence below the title. */
  lead?: ReactNode;
  /** Above the title: where the page belongs, or a status. */
  above?: ReactNode;
  /** Buttons at the title's right; in a hero, below it. */
  actions?: ReactNode;
  /** A picture at the right of a hero. */
  picture?: ReactNode;
  /** `narrow`: a form; `card`: a form that stands alone, such as signing in; `hero`: the first page of a visitor. */
  width?: "wide" | "narrow" | "card" | "hero";
  children: ReactNode;
}

/** The page that was shown last. The first one must not take the focus from the address bar. */
let shownPath = location.pathname;

/** One page: its title, which is also the window's and gets the focus, and its content. */
export function Page({ title, lead, above, actions, picture, width = "wide", children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  useEffect(() => {
    if (location.pathname !== shownPath) heading.current?.focus({ preventScroll: true });
    shownPath = location.pathname;
  }, []);
  return (
    <div className={`${styles.page} ${styles[width]}`}>
      <header className={styles.header}>
        <div className={styles.titles}>
          {above}
          <h1 ref={heading} tabIndex={-1} dir="auto">
            {title}
          </h1>
          {lead !== undefined && <p className={styles.lead}>{lead}</p>}
          {width === "hero" && <div className={styles.actions}>{actions}</div>}
        </div>
        {picture}
        {width !== "hero" && actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface SectionProps {
  title: string;
  /** What a link on the same page leads to. */
  id?: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Draws a card around the content. */
  card?: boolean;
}

/** A part of a page, with a heading. */
export function Section({ title, id, lead, actions, children, card = false }: SectionProps) {
  return (
    <section id={id} className={card ? styles.card : styles.section}>
      <div className={styles.sectionHeader}>
        <div>
          <h2>{title}</h2>
          {lead !== undefined && <p className={styles.quiet}>{lead}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}

interface ColumnsProps {
  /** Comes first on every screen: what there is to do. */
  first?: ReactNode;
  /** Beside both; between them on narrow screens. */
  side: ReactNode;
  children: ReactNode;
}

/** A page with what belongs beside its main part. */
export function Columns({ first, side, children }: ColumnsProps) {
  return (
    <div className={styles.columns}>
      {first && <div className={styles.first}>{first}</div>}
      <aside className={styles.side}>{side}</aside>
      <div className={styles.main}>{children}</div>
    </div>
  );
}
