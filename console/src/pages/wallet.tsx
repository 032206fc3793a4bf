import { Link, Outlet } from "@tanstack/react-router";
import { Tabs, tabProps } from "../parts/tabs.tsx";

export function WalletPlace() {
  return (
    <>
      <Tabs label="Wallet">
        <Link {...tabProps} to="/wallet" activeOptions={{ exact: true, includeSearch: false }}>
          Wallet
        </Link>
        <Link {...tabProps} to="/wallet/top-up" activeOptions={{ includeSearch: false }}>
          Top up
        </Link>
        <Link {...tabProps} to="/wallet/payouts" activeOptions={{ includeSearch: false }}>
          Payouts
        </Link>
        <Link {...tabProps} to="/wallet/statements">
          Statements
        </Link>
      </Tabs>
      <Outlet />
    </>
  );
}
