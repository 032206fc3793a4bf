import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Conversation } from "../../api/client.ts";
import { conversationsQuery, meQuery } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { plural } from "../../parts/format.ts";
import { Pages, Rows } from "../../parts/list.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./messages.module.css";

/** All conversations of a person, the one with the newest message first. */
export function Conversations() {
  const conversations = useInfiniteQuery(conversationsQuery);
  const { data: me } = useQuery(meQuery);
  return (
    <Page title="Messages" width="narrow">
      <Pages
        query={conversations}
        isEmpty={({ pages }) => pages[0]?.conversations.length === 0}
        empty={
          <Empty title="No messages yet">
            A buyer and a bidder can write to each other as long as there is a bid. You begin on the task's page.
          </Empty>
        }
      >
        {({ pages }) => (
          <Rows label="Conversations">
            {pages.flatMap((page) =>
              page.conversations.map((each) => (
                <ConversationRow key={each.bidId} conversation={each} userId={me?.user.id} />
              )),
            )}
          </Rows>
        )}
      </Pages>
    </Page>
  );
}

interface RowProps {
  conversation: Conversation;
  userId: string | undefined;
}

function ConversationRow({ conversation, userId }: RowProps) {
  const { bidId, task, with: other, lastMessage, unreadCount, updatedAt } = conversation;
  const { text, textTruncated, senderId, fileCount } = lastMessage;
  return (
    <li className={unreadCount > 0 ? `${styles.row} ${styles.unread}` : styles.row}>
      <div className={styles.what}>
        <Link to="/messages/$bidId" params={{ bidId }} className={styles.name}>
          <bdi>{other.displayName}</bdi>
        </Link>
        <small dir="auto">{task.title}</small>
        <span className={styles.last} dir="auto">
          {senderId === userId && "You: "}
          {text ?? plural(fileCount, "file")}
          {textTruncated && "…"}
        </span>
      </div>
      <div className={styles.end}>
        <small>
          <Time at={updatedAt} />
        </small>
        {unreadCount > 0 && <Badge tone="accent">{`${unreadCount} unread`}</Badge>}
      </div>
    </li>
  );
}
