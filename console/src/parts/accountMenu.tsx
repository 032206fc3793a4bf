import { Menu } from "@base-ui/react/menu";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Me } from "../api/client.ts";
import { walletQuery } from "../api/queries.ts";
import { useSignOut } from "../api/session.ts";
import styles from "./accountMenu.module.css";
import { formatMoney } from "./format.ts";
import { Initials } from "./initials.tsx";

/** Who is signed in, what they have, and what concerns their account. */
export default function AccountMenu({ me: { user } }: { me: Me }) {
  const { data: wallet } = useQuery(walletQuery);
  const signOut = useSignOut();
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className={styles.trigger} aria-label={`Account of ${user.displayName}`}>
        <Initials name={user.displayName} />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={8} align="end" className={styles.positioner}>
          <Menu.Popup className={styles.popup}>
            <div className={styles.who}>
              <bdi>{user.displayName}</bdi>
              <small>{user.email}</small>
            </div>
            <Menu.Item className={styles.item} render={<Link to="/wallet" />}>
              Wallet <span className={styles.amount}>{wallet && formatMoney(wallet.availableCents)}</span>
            </Menu.Item>
            <Menu.Item className={styles.item} render={<Link to="/users/$userId" params={{ userId: user.id }} />}>
              My reputation
            </Menu.Item>
            <Menu.Item className={styles.item} render={<Link to="/account" />}>
              Account and security
            </Menu.Item>
            <Menu.Item className={styles.item} onClick={() => signOut.mutate()}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
