import type { TopUpWallet } from "@rebid/sdk";
import { api } from "../../api/client.ts";
import { endOfLog, rememberTopup } from "../../api/pendingTopup.ts";
import { useAction } from "../../api/useAction.ts";

/** Creates the checkout and goes there. The end of the event log is noted first: the payment's event comes after it. */
export function useTopup<Input extends TopUpWallet>() {
  return useAction(
    "wallet.topup",
    async (input: Input, options) => {
      const cursor = await endOfLog();
      return { cursor, ...(await api.wallet.topup.mutate(input, options)) };
    },
    {
      onSuccess: ({ checkoutUrl, sessionId, cursor }, { forTask }) => {
        rememberTopup({ sessionId, cursor, isForTask: forTask !== undefined });
        location.assign(checkoutUrl);
      },
    },
  );
}
