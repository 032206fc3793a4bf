import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { recallTopup, untilCredited } from "../../api/pendingTopup.ts";
import { walletQuery } from "../../api/queries.ts";
import { formatMoney } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";

/** After the checkout: the money is on its way, and then it is here. */
export function TopupArrival() {
  const queryClient = useQueryClient();
  const [topup] = useState(recallTopup);
  const { isSuccess } = useQuery({
    queryKey: ["topup", topup?.sessionId],
    queryFn: async ({ signal }) => {
      if (topup !== null) await untilCredited(topup, signal);
      await queryClient.invalidateQueries({ queryKey: walletQuery.queryKey });
      return true;
    },
    enabled: topup !== null,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    retry: true,
  });
  if (topup !== null && isSuccess) {
    return (
      <Notice kind="good" alert title={`${formatMoney(topup.amountCents)} has arrived`}>
        It is available now.
      </Notice>
    );
  }
  return (
    <Notice
      kind="info"
      title={topup ? `${formatMoney(topup.amountCents)} is on its way` : "Your payment is on its way"}
    >
      This takes a moment. You need not wait: it arrives also when you leave this page.
    </Notice>
  );
}
