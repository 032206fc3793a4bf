import { Link } from "@tanstack/react-router";
import type { Check, NewCheck } from "../../api/client.ts";
import { contentOf, phraseOf } from "../../checks/words.ts";
import { formatHours } from "../../parts/format.ts";
import { Fact, Facts } from "../../parts/list.tsx";
import { LongText } from "../../parts/longText.tsx";
import { MoneyPreview } from "../../parts/money.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Time } from "../../parts/time.tsx";
import type { ApprovalPage } from "./read.ts";

/** What an agent asks for. What was written by others stands by itself, marked as such. */
export function Asked({ page }: { page: ApprovalPage }) {
  const { approval, task, bid, keyLabel } = page;
  return (
    <>
      <Facts>
        <Fact name="Asked by">
          <bdi>{keyLabel ?? "an API key"}</bdi>, <Time at={approval.createdAt} />
        </Fact>
        {bid && (
          <Fact name={page.isBuyer ? "Paid to" : "Your bid"}>
            <bdi>{bid.bidder.displayName}</bdi>
          </Fact>
        )}
        {bid && approval.operation === "tasks.award" && <Fact name="Within">{formatHours(bid.etaHours)}</Fact>}
        {task && (
          <Fact name="Task">
            <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
              <bdi>{task.title}</bdi>
            </Link>
          </Fact>
        )}
      </Facts>
      <Words page={page} />
      <Movement page={page} />
    </>
  );
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

const isCheck = (value: unknown): value is NewCheck =>
  typeof value === "object" && value !== null && "kind" in value && "name" in value;

/** The checks of an input, which the service has read before it asked. */
const checksIn = (value: unknown): NewCheck[] => (Array.isArray(value) ? value.filter(isCheck) : []);
const lineOf = (check: NewCheck | Check) =>
  [`${check.name}: ${phraseOf(check)}${check.required ? ", required" : ""}`, contentOf(check)]
    .filter(isText)
    .join("\n");

/** The checks that a delivery would have to pass: those that are asked for, or else the task's own. */
function checksAfter({ approval: { operation, input }, task }: ApprovalPage): readonly (NewCheck | Check)[] {
  if (operation === "tasks.create" || input.checks !== undefined) return checksIn(input.checks);
  return operation === "tasks.update" || operation === "tasks.award" ? (task?.checks ?? []) : [];
}

/** What the agent, and whoever it deals with, have written about it. */
function Words({ page }: { page: ApprovalPage }) {
  const { approval, bid, agreement, isBuyer } = page;
  const { operation, input } = approval;
  const draft = [operation === "tasks.update" ? input.title : null, input.description, input.acceptanceCriteria];
  const others = isBuyer ? (bid?.bidder.displayName ?? "the bidder") : "the buyer";
  const quotes = [
    { title: "The task would say", text: draft.filter(isText).join("\n\n") },
    { title: "How a delivery would be judged", text: checksAfter(page).map(lineOf).join("\n") },
    { title: "Your agent says", text: [input.reason, input.summary].filter(isText).join("\n\n") },
    { title: `${others} says`, text: agreement?.reason ?? "" },
    {
      title: `${bid?.bidder.displayName} says in the bid`,
      text: operation === "tasks.award" ? (bid?.notes ?? "") : "",
    },
  ];
  return quotes
    .filter(({ text }) => text !== "")
    .map(({ title, text }) => (
      <Notice key={title} title={title}>
        <LongText text={text} plain />
      </Notice>
    ));
}

const notes: Partial<Record<ApprovalPage["approval"]["operation"], string>> = {
  "tasks.award": "The rest of the budget, which is held, returns.",
  "agreements.propose": "Nothing moves before the other side accepts.",
  "deliveries.report": "It is paid once all required checks have passed.",
};

/** What a bidder agrees on is paid less the fee. */
const isFeeDue = ({ approval, isBuyer, bid }: ApprovalPage) =>
  approval.operation === "agreements.accept" && !isBuyer && (bid?.feeCents ?? 0) > 0;

/** The wallet before and after. */
function Movement({ page }: { page: ApprovalPage }) {
  const { approval, wallet, isBuyer, bid } = page;
  if (approval.status !== "pending") return null;
  const { available, held } = movementOf(page);
  const [name, before, change] =
    available === 0 && held !== 0 ? ["Held", wallet.heldCents, held] : ["Available", wallet.availableCents, available];
  const note = isFeeDue(page) ? "Less the platform's fee." : notes[approval.operation];
  return (
    <MoneyPreview
      lines={[
        { label: isBuyer || bid === null ? "It comes to" : "You give up", cents: approval.amountCents },
        { label: `${name} now`, cents: before },
        { label: `${name} after`, cents: before + change },
      ]}
      {...(note !== undefined && { note })}
    />
  );
}

interface Change {
  available: number;
  held: number;
}

const holding = (cents: number): Change => ({ available: -cents, held: cents });

/** What the two parts of the wallet change by. */
function movementOf({ approval, task, bid, isBuyer }: ApprovalPage): Change {
  const { operation, amountCents } = approval;
  const price = bid?.priceCents ?? amountCents;
  switch (operation) {
    case "tasks.create":
      return holding(amountCents);
    case "tasks.update":
    case "tasks.award":
      return holding(amountCents - (task?.maxBudgetCents ?? amountCents));
    case "payouts.create":
      return { available: -amountCents, held: 0 };
    case "tasks.accept":
    case "deliveries.report":
      return { available: 0, held: -amountCents };
    case "agreements.accept":
      // The price is held: what is not paid comes back to the buyer, and what is not given up is paid to the bidder.
      return { available: price - amountCents, held: isBuyer ? -price : 0 };
    default:
      return { available: 0, held: 0 };
  }
}
