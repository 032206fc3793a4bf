import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Bid, Task, TaskPage } from "../api/client.ts";
import { formatMoney } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Countdown } from "../parts/time.tsx";
import { can } from "./access.ts";

interface WhatNowProps {
  page: TaskPage;
  task: Task;
  bid: Bid | undefined;
  isBuyer: boolean;
}

interface Words {
  kind: "info" | "good" | "warn";
  title: string;
  text: ReactNode;
}

/** Of an awarded task: what waits for whom, or how it ended, in one sentence with the money and the deadline. */
export function WhatNow(props: WhatNowProps) {
  const words = wordsFor(props);
  if (words === null) return null;
  return (
    <Notice kind={words.kind} title={words.title}>
      {words.text}
    </Notice>
  );
}

function wordsFor(props: WhatNowProps): Words | null {
  const { task, bid, isBuyer } = props;
  switch (task.status) {
    case "awarded":
      return whileAwarded(task, isBuyer);
    case "delivered":
      return whileDelivered(task, bid, isBuyer);
    case "accepted":
      return bid === undefined ? null : afterAcceptance(props, bid);
    case "cancelled":
      return afterCancelling(task, bid, isBuyer);
    case "resolved":
      return task.closedBecause === "agreed" ? settled : null;
    case "expired":
      return isBuyer ? returned("Nothing was delivered in time", bid?.priceCents ?? task.maxBudgetCents) : null;
    default:
      return null;
  }
}

function whileAwarded({ deliveryDueAt, changes }: Task, isBuyer: boolean): Words | null {
  if (deliveryDueAt === null) return null;
  if (changes) return whileChanged(changes.dueAt, isBuyer);
  const over = "— the time is over, but it can still be delivered for a while";
  return {
    kind: "info",
    title: isBuyer ? "The work is under way" : "It is your turn: deliver",
    text: (
      <>
        Due in <Countdown to={deliveryDueAt} over={over} />.
      </>
    ),
  };
}

/** In a round of changes. */
const whileChanged = (dueAt: string, isBuyer: boolean): Words => ({
  kind: "info",
  title: isBuyer ? "You asked for changes" : "It is your turn: deliver again, or decline",
  text: (
    <>
      Due in <Countdown to={dueAt} over="a moment" />. If nothing comes, the delivery below stands again, and{" "}
      {isBuyer ? "you have" : "the buyer has"} a new time to accept or dispute it.
    </>
  ),
});

function whileDelivered(task: Task, bid: Bid | undefined, isBuyer: boolean): Words | null {
  const { acceptanceDeadlineAt, acceptsAt } = task;
  if (acceptanceDeadlineAt === null) return null;
  if (acceptsAt) return oncePassed(acceptsAt, bid, isBuyer);
  return {
    kind: "warn",
    title: isBuyer ? "It is your turn: look at the delivery" : "The buyer looks at your delivery",
    text: (
      <>
        Without an answer, {bid ? formatMoney(bid.priceCents) : "the price"}{" "}
        {isBuyer ? "goes to the bidder" : "is yours"} in <Countdown to={acceptanceDeadlineAt} over="a moment" />.
      </>
    ),
  };
}

/** All required checks have passed. */
const oncePassed = (acceptsAt: string, bid: Bid | undefined, isBuyer: boolean): Words => ({
  kind: isBuyer ? "warn" : "good",
  title: isBuyer ? "The checks have passed: look at the delivery now" : "The checks have passed",
  text: (
    <>
      {bid ? formatMoney(bid.priceCents) : "The price"}{" "}
      {isBuyer ? "goes to the bidder by itself" : "is yours by itself"} in <Countdown to={acceptsAt} over="a moment" />
      {isBuyer ? "." : ", unless the buyer objects."}
    </>
  ),
});

/** Nobody's money was paid: its buyer gave the task up, its bidder gave it back, or both agreed. */
function afterCancelling(
  { closedBecause, maxBudgetCents }: Task,
  bid: Bid | undefined,
  isBuyer: boolean,
): Words | null {
  if (bid === undefined || closedBecause === "cancelled") {
    return isBuyer ? returned("You cancelled this task", maxBudgetCents) : null;
  }
  const cancelled = "You both agreed to cancel this task";
  if (isBuyer) {
    return returned(
      closedBecause === "agreed" ? cancelled : `${bid.bidder.displayName} gave this task back`,
      bid.priceCents,
    );
  }
  const text = `${formatMoney(bid.priceCents)} returned to the buyer.`;
  return { kind: "info", title: closedBecause === "agreed" ? cancelled : "You gave this task back", text };
}

const settled: Words = {
  kind: "good",
  title: "You both agreed on how this task ends",
  text: "The money has moved as the accepted proposal below says.",
};

/** What was paid, and what is left to do. */
function afterAcceptance({ page, task, isBuyer }: WhatNowProps, bid: Bid): Words {
  const price = formatMoney(bid.priceCents);
  const other = isBuyer ? bid.bidder.displayName : task.buyer.displayName;
  const next = can(page, "tasks.rate") ? `Rate ${other} below, so that others know.` : "There is nothing left to do.";
  const byChecks = task.acceptedBy === "checks" ? "Its checks have accepted it. " : "";
  if (isBuyer)
    return { kind: "good", title: `You paid ${other} ${price}`, text: `${byChecks}The delivery is yours. ${next}` };
  const text = (
    <>
      {byChecks}It is in your wallet. {next} <Link to="/wallet/payouts">Pay it out</Link>
    </>
  );
  return { kind: "good", title: `${other} paid you ${price}`, text };
}

const returned = (title: string, cents: number): Words => ({
  kind: "info",
  title,
  text: `${formatMoney(cents)} returned to your wallet.`,
});
