import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import wordmark from "../../../server/brand/wordmark.svg?raw";
import type { Me } from "../api/client.ts";
import { conversationsQuery } from "../api/queries.ts";
import { AccountMenu } from "./accountMenu.tsx";
import { ButtonLink } from "./button.tsx";
import styles from "./shell.module.css";
import { setUnread } from "./windowTitle.ts";

interface Place {
  to: "/tasks" | "/work" | "/messages" | "/wallet" | "/keys" | "/moderation/disputes";
  label: string;
  /** The beginnings of the addresses of its pages. */
  pages: readonly string[];
}

const browse: Place = { to: "/tasks", label: "Browse", pages: ["/tasks"] };
const places: readonly Place[] = [
  { to: "/work", label: "My work", pages: ["/work"] },
  { to: "/messages", label: "Messages", pages: ["/messages"] },
  { to: "/wallet", label: "Wallet", pages: ["/wallet"] },
  { to: "/keys", label: "Developers", pages: ["/keys", "/webhooks"] },
];
const moderation: Place = { to: "/moderation/disputes", label: "Moderation", pages: ["/moderation"] };

/** What is around every page: where one can go, who is signed in, and whether there is a network. */
export function Shell({ me, children }: { me: Me | null; children: ReactNode }) {
  return (
    <>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <header className={styles.bar}>
        <div className={styles.inner}>
          <Link to="/" className={styles.brand} aria-label="Rebid, home">
            <Wordmark />
          </Link>
          <Navigation me={me} />
          <div className={styles.end}>{me === null ? <SignIn /> : <SignedIn me={me} />}</div>
        </div>
      </header>
      <Offline />
      <main id="main" tabIndex={-1} className={styles.main}>
        {children}
      </main>
      <footer className={styles.footer}>
        <a href="/docs">Documentation</a>
        <span>Every action here is also in the API.</span>
      </footer>
    </>
  );
}

/** The places; on a narrow screen behind a button, for a person who is signed in. */
function Navigation({ me }: { me: Me | null }) {
  const [open, setOpen] = useState(false);
  const { href, pathname } = useLocation();
  useEffect(() => setOpen(false), [href]);
  const { data } = useInfiniteQuery({ ...conversationsQuery, enabled: me !== null });
  const unread = data?.pages[0]?.unreadCount ?? 0;
  // An unread message is an unread notification too.
  const news = Math.max(unread, me?.unreadCount ?? 0);
  useEffect(() => setUnread(news), [news]);
  const shown = [browse, ...(me === null ? [] : places), ...(me?.role === "moderator" ? [moderation] : [])];
  return (
    <>
      {me !== null && (
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
      )}
      <nav id="navigation" className={me !== null && open ? styles.open : styles.nav} aria-label="Main">
        {shown.map(({ to, label, pages }) => (
          <Link key={to} to={to} className={pages.some((page) => pathname.startsWith(page)) ? styles.active : ""}>
            {label}
            {to === "/messages" && unread ? <Unread count={unread} /> : null}
          </Link>
        ))}
        {me !== null && (
          <Link to="/post" className={styles.small}>
            Post a task
          </Link>
        )}
      </nav>
    </>
  );
}

function Unread({ count }: { count: number }) {
  return (
    <span className={styles.unread}>
      {count}
      <span className="visually-hidden"> unread</span>
    </span>
  );
}

function SignIn() {
  return (
    <>
      <Link to="/sign-in" className={styles.plain}>
        Sign in
      </Link>
      <ButtonLink to="/sign-up" look="primary" size="small">
        Sign up
      </ButtonLink>
    </>
  );
}

function SignedIn({ me }: { me: Me }) {
  useEffect(() => {
    // Only browsers that were allowed to show notifications load what keeps them subscribed.
    if (globalThis.Notification?.permission !== "granted") return;
    void import("../api/push.ts").then(({ renew }) => renew(me.user.id)).catch(() => {});
  }, [me.user.id]);
  return (
    <>
      <span className={styles.wide}>
        <ButtonLink to="/post" look="primary" size="small">
          Post a task
        </ButtonLink>
      </span>
      <Bell unread={me.unreadCount} />
      <AccountMenu me={me} />
    </>
  );
}

function Bell({ unread }: { unread: number }) {
  return (
    <Link to="/notifications" className={styles.bell} aria-label={`Notifications, ${unread} unread`}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M6 16v-5a6 6 0 0 1 12 0v5l2 2H4zM10 21h4" />
      </svg>
      {unread > 0 && <span aria-hidden="true">{unread > 99 ? "99+" : unread}</span>}
    </Link>
  );
}

/** The brand's own file, in the colour of the text. */
function Wordmark() {
  return <span className={styles.wordmark} aria-hidden="true" dangerouslySetInnerHTML={{ __html: wordmark }} />;
}

const watchNetwork = (watcher: () => void) => {
  addEventListener("online", watcher);
  addEventListener("offline", watcher);
  return () => {
    removeEventListener("online", watcher);
    removeEventListener("offline", watcher);
  };
};

function Offline() {
  const online = useSyncExternalStore(watchNetwork, () => navigator.onLine);
  return (
    <div role="status" className={online ? undefined : styles.offline}>
      {!online && "You are offline. What you see may be old; what you send waits until you are back."}
    </div>
  );
}
