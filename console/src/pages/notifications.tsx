import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useState } from "react";
import { api, type Notification } from "../api/client.ts";
import { meQuery, notificationsQuery } from "../api/queries.ts";
import { Badge } from "../parts/badge.tsx";
import { Pages, Rows } from "../parts/list.tsx";
import { Page } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";
import { Tabs, tabProps } from "../parts/tabs.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./messages/messages.module.css";

/** What others, the clock and one's own agents did. To see it is to have read it; what was new stays marked for this visit. */
export function Notifications() {
  const { show } = useSearch({ from: "/_signedIn/notifications" });
  const query = useInfiniteQuery(notificationsQuery);
  const all = query.data?.pages.flatMap(({ notifications }) => notifications) ?? [];
  const news = useNews(all);
  const waiting = all.filter(({ needsAction }) => needsAction);
  const shown = show === "waiting" ? waiting : all;
  return (
    <Page
      title="Notifications"
      width="narrow"
      actions={
        <Link to="/account" hash="told">
          How you are told
        </Link>
      }
    >
      <Tabs label="Notifications">
        <Link {...tabProps} to="/notifications" search={{ show: "waiting" }}>
          Needs you
        </Link>
        <Link {...tabProps} to="/notifications" search={{}} activeOptions={{ exact: true, explicitUndefined: true }}>
          All
        </Link>
      </Tabs>
      <Pages query={query} isEmpty={() => all.length === 0} empty={<Nothing />} more="Show older">
        {() =>
          shown.length === 0 ? (
            <Empty title="Nothing needs you">
              {query.hasNextPage ? "At least of what is loaded: older ones may." : "Whatever happened is done with."}
            </Empty>
          ) : (
            <Rows label="Notifications">
              {shown.map((each) => (
                <NotificationRow key={each.id} notification={each} isNew={news.has(each.id)} />
              ))}
            </Rows>
          )
        }
      </Pages>
    </Page>
  );
}

const Nothing = () => (
  <Empty title="No notifications yet">When somebody bids, delivers, answers or writes to you, it appears here.</Empty>
);

/** Marks what is seen as read, and returns the ids of what was unread when it was first seen. */
function useNews(all: readonly Notification[]): ReadonlySet<string> {
  const queryClient = useQueryClient();
  const [news, setNews] = useState<ReadonlySet<string>>(new Set());
  const { mutate } = useMutation({
    mutationFn: (upTo: string) => api.notifications.read.mutate({ upTo }),
    onSuccess: () =>
      Promise.all(
        [meQuery, notificationsQuery].map(({ queryKey }) => queryClient.invalidateQueries({ queryKey: [queryKey[0]] })),
      ),
  });
  const unread = all.filter(({ read }) => !read).map(({ id }) => id);
  const [newest] = all;
  const upTo = newest !== undefined && !newest.read ? newest.id : null;
  useEffect(() => {
    if (upTo === null) return;
    setNews((before) => new Set([...before, ...unread]));
    mutate(upTo);
    // Of the same newest one, everything older is read with it.
  }, [upTo, mutate]);
  return news;
}

interface RowProps {
  notification: Notification;
  isNew: boolean;
}

function NotificationRow({ notification: { title, text, url, needsAction, createdAt }, isNew }: RowProps) {
  const router = useRouter();
  // Of the address, only what is after the origin: the console may have another one.
  const { pathname, search, hash } = new URL(url);
  const path = pathname + search + hash;
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || !path.startsWith(`${router.basepath}/`)) return;
    event.preventDefault();
    router.history.push(path);
  };
  return (
    <li className={isNew ? `${styles.row} ${styles.unread}` : styles.row}>
      <div className={styles.what}>
        <a href={path} onClick={follow} className={styles.name} dir="auto">
          {title}
        </a>
        <small dir="auto">{text}</small>
      </div>
      <div className={styles.end}>
        <small>
          <Time at={createdAt} />
        </small>
        {needsAction ? <Badge tone="warn">Needs you</Badge> : isNew && <Badge tone="accent">New</Badge>}
      </div>
    </li>
  );
}
