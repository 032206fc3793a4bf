import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ModerationAction } from "../../api/client.ts";
import { moderationActionsQuery } from "../../api/queries.ts";
import { Pages, Rows } from "../../parts/list.tsx";
import { Page } from "../../parts/page.tsx";
import { Person } from "../../parts/person.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./moderation.module.css";

/** What was done, before and after the name of the person whom it concerns. */
const words: Record<ModerationAction["action"], [string, string?]> = {
  resolve_dispute: ["decided a dispute"],
  suspend_user: ["suspended"],
  reinstate_user: ["reinstated"],
  add_moderator: ["made", "a moderator"],
  remove_moderator: ["took the moderator's role from"],
  remove_second_factor: ["removed the second factor of"],
  remove_question: ["removed a question of"],
};

export function Actions() {
  const actions = useInfiniteQuery(moderationActionsQuery);
  return (
    <Page title="Decisions" lead="What moderators and operators did, and why. Nothing in it can be changed.">
      <Pages
        query={actions}
        isEmpty={({ pages }) => pages[0]?.actions.length === 0}
        empty={<Empty title="Nothing was decided yet" />}
      >
        {({ pages }) => (
          <Rows label="Decisions">
            {pages.flatMap((page) => page.actions.map((action) => <ActionRow key={action.id} action={action} />))}
          </Rows>
        )}
      </Pages>
    </Page>
  );
}

function ActionRow({
  action: { action, moderator, user, disputeId, reason, createdAt },
}: {
  action: ModerationAction;
}) {
  const [before, after] = words[action];
  return (
    <li className={styles.row}>
      <div>
        <p>
          {moderator ? <Person person={moderator} /> : "An operator"} {before} {user && <Person person={user} />}{" "}
          {after}
          {disputeId && (
            <Link to="/moderation/disputes/$disputeId" params={{ disputeId }}>
              See it
            </Link>
          )}
        </p>
        {reason !== null && (
          <p className={styles.meta} dir="auto">
            {reason}
          </p>
        )}
      </div>
      <span className={styles.meta}>
        <Time at={createdAt} />
      </span>
    </li>
  );
}
