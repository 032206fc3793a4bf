import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { walletQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { MoneyField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { MoneyPreview } from "../../parts/money.tsx";

/** Asks for an amount, and says what it does to the wallet. */
export function RequestPayout() {
  const [amountCents, setAmountCents] = useState(0);
  const { data: wallet } = useQuery(walletQuery);
  const request = useAction("payouts.create", api.payouts.create.mutate);
  return (
    <Form
      action={request}
      operation="payouts.create"
      read={(form) => ({ amountCents: form.money("amountCents") })}
      onInput={(form) => setAmountCents(form.money("amountCents"))}
      submit="Request the payout"
      onDone={() => setAmountCents(0)}
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
    </Form>
  );
}
