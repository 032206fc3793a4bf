import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { isWhole } from "../../api/client.ts";
import { bidQuery, meQuery, taskQuery } from "../../api/queries.ts";
import { formatMoney } from "../../parts/format.ts";
import { Page } from "../../parts/page.tsx";
import { can } from "../../task/access.ts";
import { Conversation } from "../../task/conversation.tsx";

/** One conversation, on a page of its own. */
export function ReadConversation() {
  const { bidId } = useParams({ from: "/_signedIn/messages/$bidId" });
  const { bid } = useSuspenseQuery(bidQuery(bidId)).data;
  const { data: page } = useSuspenseQuery(taskQuery(bid.taskId));
  const { data: me } = useQuery(meQuery);
  const { task } = page;
  const other = isWhole(task) && task.buyer.id !== me?.user.id ? task.buyer : bid.bidder;
  const isLiving = bid.status === "active" || bid.status === "awarded";
  return (
    <Page
      title={other.displayName}
      width="narrow"
      above={
        <Link to="/messages">
          <span aria-hidden="true">← </span>Messages
        </Link>
      }
      lead={
        <>
          About the bid of {formatMoney(bid.priceCents)} on{" "}
          <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
            <bdi>{task.title}</bdi>
          </Link>
        </>
      }
    >
      <Conversation key={bidId} bidId={bidId} canWrite={isLiving && can(page, "messages.send")} />
    </Page>
  );
}
