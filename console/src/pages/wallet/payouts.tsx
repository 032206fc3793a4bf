import { useInfiniteQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { Payout } from "../../api/client.ts";
import { pollWithoutEvents } from "../../api/live.ts";
import { payoutsQuery } from "../../api/queries.ts";
import { Receipt } from "../../papers/receipt.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { formatMoney } from "../../parts/format.ts";
import { Pages, Rows } from "../../parts/list.tsx";
import { Money } from "../../parts/money.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { BankAccount } from "./bankAccount.tsx";
import { RequestPayout } from "./requestPayout.tsx";
import styles from "./wallet.module.css";

/** While the details are being checked, nobody is told when that ends. */
const CHECK_MS = 3_000;

const meanings: Record<Payout["status"], string> = {
  pending: "It is being prepared.",
  waiting_funds: "It is tried again until it is covered.",
  in_transit: "Between our account and your bank.",
  paid: "Your bank has it.",
  failed: "The money is back in your wallet.",
};

export function Payouts() {
  const { onboarding: returned } = useSearch({ from: "/_signedIn/wallet/payouts" });
  const payouts = useInfiniteQuery({
    ...payoutsQuery,
    refetchInterval: ({ state }) =>
      state.data?.pages[0]?.bankDetails === "incomplete" ? CHECK_MS : pollWithoutEvents()(),
  });
  const bankDetails = payouts.data?.pages[0]?.bankDetails;
  return (
    <Page title="Payouts" width="narrow" lead="What you have earned, or do not need any more, to your bank account.">
      {returned === "expired" && (
        <Notice kind="warn">That link had expired: each works once. Continue with a new one.</Notice>
      )}
      {bankDetails === "complete" && <RequestPayout key={payouts.data?.pages[0]?.payouts[0]?.id} />}
      {bankDetails && <BankAccount details={bankDetails} isBack={returned === "done"} />}
      <Section title="Your payouts">
        <Pages
          query={payouts}
          isEmpty={({ pages }) => pages[0]?.payouts.length === 0}
          empty={<Empty title="No payouts yet">They appear here with what happens to them.</Empty>}
        >
          {({ pages }) => (
            <Rows label="Payouts">
              {pages.flatMap((page) => page.payouts.map((payout) => <PayoutRow key={payout.id} payout={payout} />))}
            </Rows>
          )}
        </Pages>
      </Section>
    </Page>
  );
}

function PayoutRow({ payout }: { payout: Payout }) {
  return (
    <li className={styles.payout}>
      <div>
        <StatusBadge status={payout.status} />
        <p>
          requested <Time at={payout.createdAt} />. {meanings[payout.status]} {payout.failureMessage}
        </p>
      </div>
      <div className={styles.amount}>
        <strong>
          <Money cents={payout.amountCents} />
        </strong>
        {payout.status === "paid" && (
          <Receipt subject={{ payoutId: payout.id }} of={`payout of ${formatMoney(payout.amountCents)}`} />
        )}
      </div>
    </li>
  );
}
