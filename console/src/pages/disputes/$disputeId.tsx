import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { disputeQuery } from "../../api/queries.ts";
import { Page } from "../../parts/page.tsx";
import { DisputeRecord } from "../../task/record.tsx";

/** A dispute for its two sides: what a moderator decides it by. */
export function ReadRecord() {
  const { disputeId } = useParams({ from: "/_signedIn/disputes/$disputeId" });
  const { data } = useSuspenseQuery(disputeQuery(disputeId));
  const { dispute, task } = data;
  return (
    <Page
      title="The record of the dispute"
      above={
        <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
          <span aria-hidden="true">← </span>
          <bdi>{task.title}</bdi>
        </Link>
      }
      lead={dispute.status === "open" ? "A moderator sees the same, and decides by it." : "A moderator saw the same."}
    >
      <DisputeRecord page={data} />
    </Page>
  );
}
