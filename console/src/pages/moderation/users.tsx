import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, type ModeratedUser } from "../../api/client.ts";
import { meQuery, usersQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { TextArea } from "../../parts/fields.tsx";
import { Pages, Rows } from "../../parts/list.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./moderation.module.css";

export function Users() {
  const { query } = useSearch({ from: "/_signedIn/moderation/users" });
  const navigate = useNavigate();
  const users = useInfiniteQuery(usersQuery(query));
  return (
    <Page title="People" lead="Find somebody by a part of their name or address, or by their id.">
      <search>
        <form
          key={query}
          className={styles.search}
          onSubmit={(event) => {
            event.preventDefault();
            const text = String(new FormData(event.currentTarget).get("query")).trim();
            void navigate({ to: "/moderation/users", search: { query: text || undefined } });
          }}
        >
          <input type="search" name="query" aria-label="Name, address or id" defaultValue={query} dir="auto" />
          <Button type="submit">Find</Button>
        </form>
      </search>
      <Pages
        query={users}
        isEmpty={({ pages }) => pages[0]?.users.length === 0}
        empty={<Empty title="Nobody was found">Try a shorter part of the name or address.</Empty>}
      >
        {({ pages }) => (
          <Rows label="People">
            {pages.flatMap((page) => page.users.map((user) => <UserRow key={user.id} user={user} />))}
          </Rows>
        )}
      </Pages>
    </Page>
  );
}

function UserRow({ user }: { user: ModeratedUser }) {
  const { id, displayName, email, role, suspendedAt, createdAt } = user;
  const { data: me } = useQuery(meQuery);
  return (
    <li className={styles.row}>
      <div>
        <p>
          <Link to="/users/$userId" params={{ userId: id }}>
            <bdi>{displayName}</bdi>
          </Link>
        </p>
        <p className={styles.meta}>
          {email}, here since <Time at={createdAt} />
          {suspendedAt && (
            <>
              , suspended <Time at={suspendedAt} />
            </>
          )}
        </p>
      </div>
      <div className={styles.actions}>
        {role === "moderator" && <Badge tone="accent">{me?.user.id === id ? "You, a moderator" : "Moderator"}</Badge>}
        {suspendedAt && <Badge tone="bad">Suspended</Badge>}
        {role === "member" && (suspendedAt ? <Reinstate user={user} /> : <Suspend user={user} />)}
      </div>
    </li>
  );
}

function Suspend({ user }: { user: ModeratedUser }) {
  const suspend = useAction("users.suspend", api.users.suspend.mutate);
  return (
    <Confirm
      button="Suspend"
      size="small"
      look="danger"
      title={`Suspend ${user.displayName}?`}
      confirm="Suspend"
      action={suspend}
      operation="users.suspend"
      read={(fields) => ({ id: user.id, reason: fields.text("reason") })}
    >
      <p>
        They are signed out, and their API keys are deleted. Their open tasks are cancelled with the money returned to
        them, and their bids withdrawn. What is awarded goes its way, so that nobody else loses anything.
      </p>
      <TextArea name="reason" label="Reason" hint="Moderators see it, and the person in their export." rows={3} />
    </Confirm>
  );
}

function Reinstate({ user }: { user: ModeratedUser }) {
  const reinstate = useAction("users.reinstate", api.users.reinstate.mutate);
  return (
    <Confirm
      button="Reinstate"
      size="small"
      title={`Reinstate ${user.displayName}?`}
      confirm="Reinstate"
      action={reinstate}
      operation="users.reinstate"
      read={(fields) => {
        const reason = fields.optionalText("reason");
        return { id: user.id, ...(reason && { reason }) };
      }}
    >
      <p>They can sign in again. What the suspension ended stays ended.</p>
      <TextArea name="reason" label="Reason" optional rows={3} />
    </Confirm>
  );
}
