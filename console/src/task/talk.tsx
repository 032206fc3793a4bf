import { lazy, type MouseEvent, Suspense, useState } from "react";
import type { Task, TaskPage } from "../api/client.ts";
import { ButtonLink } from "../parts/button.tsx";
import { awardedBidOf, can } from "./access.ts";
import styles from "./taskSide.module.css";

const Conversation = lazy(() => import("./conversation.tsx").then((file) => ({ default: file.Conversation })));

interface TalkProps {
  page: TaskPage;
  task: Task;
  userId: string;
}

/** The conversation of the bid that counts, beside the task; where there is no room for both, a page of its own. */
export function Talk({ page, task, userId }: TalkProps) {
  const [open, setOpen] = useState(false);
  const { bids = [] } = page;
  const isBuyer = task.buyer.id === userId;
  const own = bids.find(({ bidder, status }) => bidder.id === userId && status === "active");
  const bid = awardedBidOf(page, task) ?? own;
  if (bid === undefined || !(isBuyer || bid.bidder.id === userId)) return null;
  const toggle = (event: MouseEvent) => {
    if (!matchMedia("(min-width: 60rem)").matches) return;
    event.preventDefault();
    setOpen(!open);
  };
  return (
    <div className={styles.talk}>
      <ButtonLink to="/messages/$bidId" params={{ bidId: bid.id }} onClick={toggle}>
        {open ? "Close the messages" : `Messages with ${isBuyer ? bid.bidder.displayName : task.buyer.displayName}`}
      </ButtonLink>
      <Suspense>{open && <Conversation bidId={bid.id} canWrite={can(page, "messages.send")} />}</Suspense>
    </div>
  );
}
