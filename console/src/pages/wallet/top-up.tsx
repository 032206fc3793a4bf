import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { recallTopup } from "../../api/pendingTopup.ts";
import { walletQuery } from "../../api/queries.ts";
import { Button } from "../../parts/button.tsx";
import { MoneyField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { formatShortMoney, moneyText } from "../../parts/format.ts";
import { MoneyPreview } from "../../parts/money.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { useTopup } from "./useTopup.ts";
import styles from "./wallet.module.css";

/** Amounts that can be chosen with one click, in cents. */
const suggestions = [2_000, 5_000, 10_000, 25_000];

export function TopUp() {
  const { topup: outcome } = useSearch({ from: "/_signedIn/wallet/top-up" });
  const [amountCents, setAmountCents] = useState(0);
  const fields = useRef<HTMLDivElement>(null);
  const { data: wallet } = useQuery(walletQuery);
  const topup = useTopup();
  const choose = (cents: number) => {
    const field = fields.current?.querySelector("input");
    if (!field) return;
    field.value = moneyText(cents);
    setAmountCents(cents);
  };
  return (
    <Page title="Top up" width="narrow" lead="You pay on the checkout page of the payment processor, and return here.">
      {outcome === "cancelled" && (
        <Notice kind="info" title="Nothing was paid">
          {recallTopup()?.isForTask ? (
            <>
              You left the checkout, so your task is not posted. Your text is still there:{" "}
              <Link to="/post">go on with it</Link>.
            </>
          ) : (
            "You left the checkout, so your wallet has not changed."
          )}
        </Notice>
      )}
      <Form
        action={topup}
        operation="wallet.topup"
        read={(form) => ({ amountCents: form.money("amountCents") })}
        onInput={(form) => setAmountCents(form.money("amountCents"))}
        submit={topup.isSuccess ? "Going to the checkout…" : "Go to the checkout"}
      >
        <div ref={fields}>
          <MoneyField name="amountCents" label="Amount" />
        </div>
        <div className={styles.quick}>
          {suggestions.map((cents) => (
            <Button key={cents} size="small" onClick={() => choose(cents)}>
              {formatShortMoney(cents)}
            </Button>
          ))}
        </div>
        {wallet && amountCents > 0 && (
          <MoneyPreview
            lines={[
              { label: "Available now", cents: wallet.availableCents },
              { label: "You pay", cents: amountCents },
              { label: "Available afterwards", cents: wallet.availableCents + amountCents },
            ]}
            note="Nothing is charged before you confirm it on the checkout page."
          />
        )}
      </Form>
    </Page>
  );
}
