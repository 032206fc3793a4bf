import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { api, failureOf } from "../../api/client.ts";
import { type ApprovalPage, approvalQuery, meQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { Badge } from "../../parts/badge.tsx";
import { TextArea, TextField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { formatHours, formatMoney } from "../../parts/format.ts";
import { Fact, Facts } from "../../parts/list.tsx";
import { LongText } from "../../parts/longText.tsx";
import { MoneyPreview } from "../../parts/money.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Countdown, Time } from "../../parts/time.tsx";
import { answers } from "./words.ts";

/** What an agent asks, as it is at this moment, and the answer. Opening it does nothing. */
export function ReadApproval() {
  const { approvalId } = useParams({ from: "/_signedIn/approvals/$approvalId" });
  const { data } = useSuspenseQuery(approvalQuery(approvalId));
  const { approval } = data;
  const { word, tone } = answers[approval.status];
  return (
    <Page
      title={`${formatMoney(approval.amountCents)}: your agent asks`}
      width="narrow"
      above={<Link to="/approvals">← Approvals</Link>}
    >
      <Section title={approval.summary} actions={<Badge tone={tone}>{word}</Badge>} card>
        <Seen page={data} />
      </Section>
      {approval.status === "pending" ? <Answer page={data} /> : <Outcome page={data} />}
    </Page>
  );
}

/** What was written by others stands by itself, marked as such. */
function Seen({ page }: { page: ApprovalPage }) {
  const { approval, task, bid, keyLabel } = page;
  const { reason } = approval.input;
  return (
    <>
      <Facts>
        <Fact name="Asked by">
          <bdi>{keyLabel ?? "an API key"}</bdi>, <Time at={approval.createdAt} />
        </Fact>
        {bid && (
          <Fact name="Paid to">
            <bdi>{bid.bidder.displayName}</bdi>
          </Fact>
        )}
        {bid && <Fact name="Within">{formatHours(bid.etaHours)}</Fact>}
        {task && (
          <Fact name="Task">
            <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
              <bdi>{task.title}</bdi>
            </Link>
          </Fact>
        )}
      </Facts>
      {typeof reason === "string" && (
        <Notice title="What your agent says">
          <LongText text={reason} plain />
        </Notice>
      )}
      {bid?.notes && (
        <Notice title={`What ${bid.bidder.displayName} writes`}>
          <LongText text={bid.notes} plain />
        </Notice>
      )}
      <Movement page={page} />
    </>
  );
}

/** The wallet before and after. */
function Movement({ page }: { page: ApprovalPage }) {
  if (page.approval.status !== "pending") return null;
  const { amountCents } = page.approval;
  const before = page.wallet.availableCents;
  return (
    <MoneyPreview
      lines={[
        { label: "It comes to", cents: amountCents },
        { label: "Available now", cents: before },
        { label: "Available after", cents: before + differenceOf(page) },
      ]}
    />
  );
}

/** What the available balance changes by at once. */
function differenceOf({ approval, task, bid, isBuyer }: ApprovalPage): number {
  const { operation, amountCents } = approval;
  if (operation === "tasks.create" || operation === "payouts.create") return -amountCents;
  if (operation === "tasks.update") return (task?.maxBudgetCents ?? amountCents) - amountCents;
  if (operation === "tasks.award") return (task?.maxBudgetCents ?? amountCents) - amountCents;
  // The price of an awarded task is held: what is not paid comes back to its buyer.
  return operation === "agreements.accept" && bid && isBuyer ? bid.priceCents - amountCents : 0;
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
            It is done at once, in your agent's name. <Countdown to={expiresAt} before="You can answer for " />
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
  const message = error?.message;
  return (
    <Notice kind={status === "approved" ? "good" : status === "failed" ? "bad" : "info"} title={answers[status].word}>
      {decidedAt !== null && <Time at={decidedAt} />}
      {reason !== null && <LongText text={reason} plain />}
      {typeof message === "string" && <p>{message}</p>}
    </Notice>
  );
}
