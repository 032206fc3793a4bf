import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Approval } from "../../api/client.ts";
import { approvalsQuery } from "../../api/queries.ts";
import { Badge } from "../../parts/badge.tsx";
import { DeveloperTabs } from "../../parts/developerTabs.tsx";
import { Pages, Rows } from "../../parts/list.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "../developers.module.css";
import { answers } from "./words.ts";

/** What one's agents ask, and what was answered. What waits comes first. */
export function Approvals() {
  const query = useInfiniteQuery(approvalsQuery);
  const all = query.data?.pages.flatMap(({ approvals }) => approvals) ?? [];
  const shown = all.toSorted((a, b) => Number(b.status === "pending") - Number(a.status === "pending"));
  return (
    <>
      <DeveloperTabs />
      <Page title="Approvals" width="narrow" lead="What your agents may not do alone waits here for your answer.">
        <Pages query={query} isEmpty={() => all.length === 0} empty={<Nothing />} more="Show older">
          {() => (
            <Rows label="Approvals">
              {shown.map((each) => (
                <Row key={each.id} approval={each} />
              ))}
            </Rows>
          )}
        </Pages>
      </Page>
    </>
  );
}

const Nothing = () => (
  <Empty title="Nobody asks">Give an API key an amount above which it asks you: it then appears here.</Empty>
);

function Row({ approval: { id, summary, status, createdAt, decidedAt, reason } }: { approval: Approval }) {
  const { word, tone, decided } = answers[status];
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>
          <Link to="/approvals/$approvalId" params={{ approvalId: id }}>
            <bdi>{summary}</bdi>
          </Link>
        </p>
        <p className={styles.meta}>
          asked <Time at={createdAt} />
          {decided !== undefined && decidedAt !== null && (
            <>
              , {decided} by you <Time at={decidedAt} />
            </>
          )}
          {reason !== null && (
            <>
              : <bdi>{reason}</bdi>
            </>
          )}
        </p>
      </div>
      <Badge tone={tone}>{word}</Badge>
    </li>
  );
}
