import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, failureOf, type Payout } from "../../api/client.ts";
import { payoutsQuery, walletQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { MoneyField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { Pages, Rows } from "../../parts/list.tsx";
import { Money, MoneyPreview } from "../../parts/money.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./wallet.module.css";

const meanings: Record<Payout["status"], string> = {
  pending: "It is being prepared.",
  waiting_funds: "It is tried again until it is covered.",
  in_transit: "Between our account and your bank.",
  paid: "Your bank has it.",
  failed: "The money is back in your wallet.",
};

export function Payouts() {
  const { onboarding: returned } = useSearch({ from: "/_signedIn/wallet/payouts" });
  const [amountCents, setAmountCents] = useState(0);
  const { data: wallet } = useQuery(walletQuery);
  const payouts = useInfiniteQuery(payoutsQuery);
  const request = useAction("payouts.create", api.payouts.create.mutate);
  const refused = failureOf(request.error)?.error;
  const needsDetails = refused === "onboarding_required" || refused === "onboarding_incomplete";
  return (
    <Page title="Payouts" width="narrow" lead="What you have earned, or do not need any more, to your bank account.">
      {returned === "done" && (
        <Notice kind="good" title="Welcome back">
          Your details are being checked. Payouts work as soon as they are complete.
        </Notice>
      )}
      {returned === "expired" && (
        <Notice kind="warn">That link had expired: each works once. Continue with a new one.</Notice>
      )}
      <Form
        action={request}
        operation="payouts.create"
        read={(form) => ({ amountCents: form.money("amountCents") })}
        onInput={(form) => setAmountCents(form.money("amountCents"))}
        submit="Request the payout"
        handles={["onboarding_required", "onboarding_incomplete"]}
        onDone={() => setAmountCents(0)}
        key={payouts.data?.pages[0]?.payouts[0]?.id}
      >
        <MoneyField name="amountCents" label="Amount" />
        {wallet && amountCents > 0 && (
          <MoneyPreview
            lines={[
              { label: "Available now", cents: wallet.availableCents },
              { label: "Goes to your bank", cents: amountCents },
              { label: "Available afterwards", cents: wallet.availableCents - amountCents },
            ]}
            note="It leaves your wallet at once, and takes some days to the bank. If it fails, it returns."
          />
        )}
        {needsDetails && (
          <Notice kind="warn" alert title="Your bank details are needed first">
            Nothing was taken from your wallet.
          </Notice>
        )}
      </Form>
      <BankDetails urgent={needsDetails || returned === "expired"} />
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

/** Leads to the payment processor, which keeps the bank details: they never come here. */
function BankDetails({ urgent }: { urgent: boolean }) {
  const start = useAction("payouts.onboarding", (_: undefined, options) => api.payouts.onboarding.mutate({}, options), {
    onSuccess: ({ url }) => location.assign(url),
  });
  return (
    <Section title="Bank details" lead="You enter and change them at the payment processor. Rebid never sees them.">
      {start.error && <Problem error={start.error} />}
      <div>
        <Button look={urgent ? "primary" : "plain"} busy={start.isPending} onClick={() => start.mutate(undefined)}>
          {urgent ? "Enter the bank details" : "Enter or change the bank details"}
        </Button>
      </div>
    </Section>
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
      <strong>
        <Money cents={payout.amountCents} />
      </strong>
    </li>
  );
}
