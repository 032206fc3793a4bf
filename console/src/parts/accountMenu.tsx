import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import type { Me } from "../api/client.ts";
import { walletQuery } from "../api/queries.ts";
import { useSignOut } from "../api/session.ts";
import styles from "./accountMenu.module.css";
import { formatMoney } from "./format.ts";
import { Initials } from "./initials.tsx";
import menu from "./menu.module.css";

/** Who is signed in, what they have, and what concerns their account. The browser opens and closes it. */
export function AccountMenu({ me: { user } }: { me: Me }) {
  const { data: wallet } = useQuery(walletQuery);
  const signOut = useSignOut();
  const panel = useRef<HTMLDivElement>(null);
  const close = () => panel.current?.hidePopover();
  return (
    <>
      <button
        type="button"
        className={styles.trigger}
        popoverTarget="account-menu"
        aria-label={`Account of ${user.displayName}`}
      >
        <Initials name={user.displayName} />
      </button>
      <div ref={panel} id="account-menu" popover="auto" className={`${menu.panel} ${styles.panel}`}>
        <p className={styles.who}>
          <bdi>{user.displayName}</bdi>
          <small>{user.email}</small>
        </p>
        <Link to="/wallet" className={menu.item} onClick={close}>
          Balance <span>{wallet && formatMoney(wallet.availableCents)}</span>
        </Link>
        <Link to="/users/$userId" params={{ userId: user.id }} className={menu.item} onClick={close}>
          My reputation
        </Link>
        <Link to="/account" className={menu.item} onClick={close}>
          Account and security
        </Link>
        <button type="button" className={menu.item} onClick={() => signOut.mutate()}>
          Sign out
        </button>
      </div>
    </>
  );
}
