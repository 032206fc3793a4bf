import {
  type InfiniteData,
  queryOptions,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api, type Me, type OwnTask } from "../api/client.ts";
import { meQuery, ownBidsQuery, ownTasksQuery, walletQuery } from "../api/queries.ts";
import { ButtonLink } from "../parts/button.tsx";
import { formatMoney } from "../parts/format.ts";
import { Pages, Rows } from "../parts/list.tsx";
import { Money } from "../parts/money.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";
import { TaskRow } from "../parts/taskRow.tsx";
import { Waiting } from "../task/waiting.tsx";
import styles from "./home.module.css";
import { Welcome } from "./welcome.tsx";

/** What agents ask, and nobody has answered. */
const askedQuery = queryOptions({
  queryKey: ["approvals", "pending"],
  queryFn: ({ signal }) => api.approvals.list.query({ status: ["pending"], limit: 25 }, { signal }),
});

export function Home() {
  const { data: me } = useQuery(meQuery);
  return me ? <Overview me={me} /> : <Welcome />;
}

const tasksIn = ({ data }: { data: InfiniteData<{ tasks: OwnTask[] }> | undefined }): OwnTask[] =>
  data?.pages.flatMap(({ tasks }) => tasks) ?? [];

/** For a person who is signed in: what waits for them, and their money. */
function Overview({ me }: { me: Me }) {
  const { data: wallet } = useQuery(walletQuery);
  const { data: asked } = useQuery(askedQuery);
  const posted = useInfiniteQuery(ownTasksQuery("buyer", ["open", "awarded", "delivered", "disputed"]));
  const awarded = useInfiniteQuery(ownTasksQuery("bidder", ["awarded", "delivered", "disputed"]));
  return (
    <Page title={`Hello, ${me.user.displayName}`}>
      <Figures wallet={wallet} />
      <Waiting asked={asked?.approvals ?? []} posted={tasksIn(posted)} awarded={tasksIn(awarded)} />
      <OwnTasks
        title="Tasks you posted"
        all={<Link to="/work">All of them</Link>}
        query={posted}
        empty={
          <Empty title="Nothing is under way" action={<ButtonLink to="/post">Post a task</ButtonLink>}>
            {wallet?.availableCents === 0
              ? "Top up your wallet first: the budget of a task is held while it is open."
              : `You have ${formatMoney(wallet?.availableCents ?? 0)} for it.`}
          </Empty>
        }
      />
      <OwnTasks
        title="Tasks you work on"
        all={
          <Link to="/work" search={{ show: "awarded" }}>
            All of them
          </Link>
        }
        query={awarded}
        empty={
          <Empty title="You work on nothing at the moment" action={<ButtonLink to="/tasks">Browse tasks</ButtonLink>}>
            A task appears here when its buyer has chosen your bid.
          </Empty>
        }
      />
    </Page>
  );
}

function Figures({ wallet }: { wallet: { availableCents: number; heldCents: number } | undefined }) {
  const bids = useInfiniteQuery(ownBidsQuery("active"));
  const activeBids = bids.data?.pages[0]?.bids.length ?? 0;
  return (
    <div className={styles.figures}>
      <Link to="/wallet" className={styles.figure}>
        <span>Available</span>
        <strong>{wallet ? <Money cents={wallet.availableCents} /> : "…"}</strong>
        <small>to spend or to pay out</small>
      </Link>
      <Link to="/wallet" className={styles.figure}>
        <span>Held</span>
        <strong>{wallet ? <Money cents={wallet.heldCents} /> : "…"}</strong>
        <small>for your open and awarded tasks</small>
      </Link>
      <Link to="/work" search={{ show: "bids" }} className={styles.figure}>
        <span>Active bids</span>
        <strong>{activeBids}</strong>
        <small>that wait for a decision</small>
      </Link>
    </div>
  );
}

interface OwnTasksProps {
  title: string;
  /** The link to all of them. */
  all: ReactNode;
  query: UseInfiniteQueryResult<InfiniteData<{ tasks: OwnTask[] }>>;
  empty: ReactNode;
}

function OwnTasks({ title, all, query, empty }: OwnTasksProps) {
  return (
    <Section title={title} actions={all}>
      <Pages query={query} isEmpty={({ pages }) => pages[0]?.tasks.length === 0} empty={empty}>
        {({ pages }) => (
          <Rows label={title}>
            {pages.flatMap(({ tasks }) => tasks.map((task) => <TaskRow key={task.id} task={task} />))}
          </Rows>
        )}
      </Pages>
    </Section>
  );
}
