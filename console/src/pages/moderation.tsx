import { useQuery } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { meQuery } from "../api/queries.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Page } from "../parts/page.tsx";
import { NotFoundPage } from "../parts/states.tsx";
import { Tabs, tabProps } from "../parts/tabs.tsx";

/** The moderator's desk. The service refuses everybody else; this only spares them the refusals. */
export function Moderation() {
  const { data: me } = useQuery(meQuery);
  if (me?.role !== "moderator") return <NotFoundPage />;
  if (!me.auth.moderator) {
    return (
      <Page title="A second factor is needed" lead="Here, moderators sign in with a code as well.">
        <div>
          <ButtonLink to="/account" look="primary">
            Set up the second factor
          </ButtonLink>
        </div>
      </Page>
    );
  }
  return (
    <>
      <Tabs label="Moderation">
        <Link {...tabProps} to="/moderation/disputes">
          Disputes
        </Link>
        <Link {...tabProps} to="/moderation/users">
          People
        </Link>
        <Link {...tabProps} to="/moderation/actions">
          Decisions
        </Link>
        <Link {...tabProps} to="/moderation/operations">
          Operations
        </Link>
      </Tabs>
      <Outlet />
    </>
  );
}
