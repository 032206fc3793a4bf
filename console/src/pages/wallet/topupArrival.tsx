import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { discardDraft } from "../../api/draft.ts";
import { type Credited, recallTopup, untilCredited } from "../../api/pendingTopup.ts";
import { walletQuery } from "../../api/queries.ts";
import { formatMoney } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";

const reasons: Record<NonNullable<Credited["notPostedBecause"]>, string> = {
  too_late: "The payment came more than a day after you asked for it.",
  insufficient_funds: "Something else has used a part of the money meanwhile.",
  spam_guard: "You posted too many tasks in a short time.",
  account_inactive: "Your account is suspended.",
  invalid_input: "One of its checks cannot be reported any more.",
};

/** After the checkout: the money is on its way, and then it is here. If it was for a task, its page comes next. */
export function TopupArrival() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [topup] = useState(recallTopup);
  const { data: credited } = useQuery({
    queryKey: ["topup", topup?.sessionId],
    queryFn: async ({ signal }) => {
      const found = topup === null ? null : await untilCredited(topup, signal);
      await queryClient.invalidateQueries({ queryKey: walletQuery.queryKey });
      return found;
    },
    enabled: topup !== null,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    retry: true,
  });
  const taskId = credited?.taskId;
  useEffect(() => {
    if (taskId === undefined) return;
    discardDraft("post");
    void navigate({ to: "/tasks/$taskId", params: { taskId }, replace: true });
  }, [taskId, navigate]);
  if (credited) return <Arrived credited={credited} />;
  return (
    <Notice kind="info" title="Your payment is on its way">
      {topup?.isForTask
        ? "This takes a moment. Your task is posted when it arrives, also when you leave this page."
        : "This takes a moment. You need not wait: it arrives also when you leave this page."}
    </Notice>
  );
}

function Arrived({ credited: { topup, notPostedBecause } }: { credited: Credited }) {
  const arrived = `${formatMoney(topup.amountCents)} has arrived`;
  if (notPostedBecause === undefined) {
    return (
      <Notice kind="good" alert title={arrived}>
        It is available now.
      </Notice>
    );
  }
  return (
    <Notice kind="warn" alert title={`${arrived}, but your task was not posted`}>
      {reasons[notPostedBecause]} The money is available, and your text is still there:{" "}
      <Link to="/post">look at it</Link>.
    </Notice>
  );
}
