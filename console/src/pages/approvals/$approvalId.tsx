import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { api, failureOf } from "../../api/client.ts";
import { approvalQuery, meQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { Badge } from "../../parts/badge.tsx";
import { TextArea, TextField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { formatMoney } from "../../parts/format.ts";
import { LongText } from "../../parts/longText.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Countdown, Time } from "../../parts/time.tsx";
import { Asked } from "./asked.tsx";
import type { ApprovalPage } from "./read.ts";
import { answers } from "./words.ts";

/** What an agent asks, as it is at this moment, and the answer. Opening it does nothing. */
export function ReadApproval() {
  const { approvalId } = useParams({ from: "/_signedIn/approvals/$approvalId" });
  const { data } = useSuspenseQuery(approvalQuery(approvalId));
  const { approval } = data;
  const { word, tone } = answers[approval.status];
  return (
    <Page
      title={`${formatMoney(approval.amountCents)}: your agent ${approval.status === "pending" ? "asks" : "asked"}`}
      width="narrow"
      above={<Link to="/approvals">← Approvals</Link>}
    >
      <Section title={approval.summary} actions={<Badge tone={tone}>{word}</Badge>} card>
        <Asked page={data} />
      </Section>
      {approval.status === "pending" ? <Answer page={data} /> : <Outcome page={data} />}
    </Page>
  );
}

function Answer({ page: { approval } }: { page: ApprovalPage }) {
  const { id, version, expiresAt } = approval;
  const queryClient = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const approve = useAction("approvals.approve", api.approvals.approve.mutate);
  const decline = useAction("approvals.decline", api.approvals.decline.mutate);
  const hasChanged = failureOf(approve.error)?.error === "approval_changed";
  useEffect(() => {
    if (hasChanged) void queryClient.invalidateQueries({ queryKey: ["approval", id] });
  }, [hasChanged, queryClient, id]);
  return (
    <>
      {hasChanged && (
        <Notice kind="warn" title="It has changed" alert>
          Nothing was done. Above is what it is now: look at it again.
        </Notice>
      )}
      <Section title="Your answer" card>
        <Form
          action={approve}
          operation="approvals.approve"
          handles={["approval_changed"]}
          fieldOfError={{ second_factor_required: "code" }}
          read={(fields) => ({ id, seen: version, ...(fields.has("code") && { code: fields.text("code").trim() }) })}
          submit={`Approve ${formatMoney(approval.amountCents)}`}
        >
          {me?.hasSecondFactor && (
            <TextField
              name="code"
              label="Code"
              hint="The six digits that your authenticator shows now."
              inputMode="numeric"
            />
          )}
          <p>
            It is done at once, in your agent's name. <Countdown to={expiresAt} before="You can answer for " />.
          </p>
        </Form>
      </Section>
      <Section title="Or say no" card>
        <Form
          action={decline}
          operation="approvals.decline"
          look="danger"
          read={(fields) => ({ id, reason: fields.text("reason") })}
          submit="Decline"
        >
          <TextArea name="reason" label="Why" hint="Your agent reads it, and can do better." rows={2} />
        </Form>
      </Section>
    </>
  );
}

function Outcome({ page: { approval } }: { page: ApprovalPage }) {
  const { status, decidedAt, reason, error } = approval;
  const { word, decided } = answers[status];
  const message = error?.message;
  const title = decided === undefined || status === "failed" ? word : `${word} by you`;
  return (
    <Notice kind={status === "approved" ? "good" : status === "failed" ? "bad" : "info"} title={title}>
      {status === "failed" && "You approved it "}
      {decidedAt !== null && <Time at={decidedAt} />}
      {reason !== null && <LongText text={reason} plain />}
      {typeof message === "string" && <p>{message}</p>}
    </Notice>
  );
}
