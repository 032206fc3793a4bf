import { api, type Bid, type Dispute, type Rating, type Task } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { limitsOf } from "../limits.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Choices, TextArea } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { formatMoney, plural } from "../parts/format.ts";
import { LongText } from "../parts/longText.tsx";
import { MoneyPreview } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Stars } from "../parts/person.tsx";
import { Countdown, Time } from "../parts/time.tsx";
import styles from "./decisions.module.css";

/** The buyer's decision about an open task: giving it up. */
export function CancelTask({ task }: { task: Task }) {
  const cancel = useAction("tasks.cancel", api.tasks.cancel.mutate);
  return (
    <Confirm
      button="Cancel the task"
      look="danger"
      title="Cancel this task?"
      confirm="Cancel the task"
      action={cancel}
      operation="tasks.cancel"
      read={() => ({ id: task.id })}
    >
      <MoneyPreview
        lines={[{ label: "Returns to your available balance", cents: task.maxBudgetCents }]}
        note="All bids are turned down. A cancelled task cannot be opened again."
      />
    </Confirm>
  );
}

/** The buyer's decision about a delivery: pay for it. */
export function Accept({ task, bid }: { task: Task; bid: Bid }) {
  const accept = useAction("tasks.accept", api.tasks.accept.mutate);
  return (
    <Confirm
      button="Accept and pay"
      look="primary"
      title="Accept the delivery?"
      confirm={`Pay ${formatMoney(bid.priceCents)}`}
      action={accept}
      operation="tasks.accept"
      read={() => ({ id: task.id })}
    >
      <MoneyPreview
        lines={[{ label: `${bid.bidder.displayName} is paid, from what is held`, cents: bid.priceCents }]}
        note="This is final. There is no dispute after it."
      />
    </Confirm>
  );
}

/** Either side's objection to a delivery or to its rejection. */
export function OpenDispute({ task, bid }: { task: Task; bid: Bid }) {
  const dispute = useAction("tasks.dispute", api.tasks.dispute.mutate);
  return (
    <Confirm
      button="Open a dispute"
      look="danger"
      title="Open a dispute?"
      confirm="Open the dispute"
      action={dispute}
      operation="tasks.dispute"
      read={(fields) => ({ id: task.id, reason: fields.text("reason") })}
    >
      <MoneyPreview
        lines={[{ label: "Stays held until a moderator has decided", cents: bid.priceCents }]}
        note="A moderator reads what both sides have written, looks at the files, and returns, pays or divides the money."
      />
      <TextArea
        name="reason"
        label="What is wrong?"
        hint={`The other side and the moderators read this. At least ${limitsOf("tasks.dispute", "reason").minLength} characters.`}
        rows={5}
      />
    </Confirm>
  );
}

/** How a dispute stands, or was decided. */
export function DisputeState({ dispute }: { dispute: Dispute }) {
  const { openedBy, reason, status, resolution, buyerCents, bidderCents, note, createdAt } = dispute;
  return (
    <Section
      title={status === "open" ? "This task is disputed" : "The dispute"}
      actions={<StatusBadge status={status === "open" ? "disputed" : "resolved"} />}
      card
    >
      <p>
        Opened by the {openedBy} <Time at={createdAt} />:
      </p>
      <LongText text={reason} />
      {status === "open" ? (
        <Notice kind="warn">A moderator decides. Until then the money stays held.</Notice>
      ) : (
        <>
          <MoneyPreview
            lines={[
              { label: "Returned to the buyer", cents: buyerCents ?? 0 },
              { label: "Paid to the bidder", cents: bidderCents ?? 0 },
            ]}
            note={
              { refund: "All of it was returned.", release: "All of it was paid.", split: "It was divided." }[
                resolution ?? "split"
              ]
            }
          />
          {note !== null && (
            <>
              <h3>The moderator's note</h3>
              <LongText text={note} />
            </>
          )}
        </>
      )}
    </Section>
  );
}

/** One side's judgement of the other, after the end. */
export function Rate({ task, ratee }: { task: Task; ratee: string }) {
  const rate = useAction("tasks.rate", api.tasks.rate.mutate);
  const { minimum = 1, maximum = 5 } = limitsOf("tasks.rate", "stars");
  const options = Array.from({ length: maximum - minimum + 1 }, (_, index) => maximum - index);
  return (
    <Section title={`Rate ${ratee}`} lead="Everybody sees it, and it cannot be changed." card>
      <Form
        action={rate}
        operation="tasks.rate"
        read={(fields) => ({ id: task.id, stars: Number(fields.text("stars")), comment: fields.text("comment") })}
        submit="Send the rating"
      >
        <Choices
          name="stars"
          label="Stars"
          type="radio"
          chosen={[String(maximum)]}
          options={options.map((stars) => ({ value: String(stars), label: plural(stars, "star") }))}
        />
        <TextArea name="comment" label="Comment" optional rows={3} />
      </Form>
    </Section>
  );
}

export function Ratings({ ratings, task, bid }: { ratings: readonly Rating[]; task: Task; bid: Bid | undefined }) {
  return (
    <Section title="Ratings">
      <div className={styles.ratings}>
        {ratings.map(({ id, role, stars, comment, createdAt }) => (
          <figure key={id}>
            <figcaption>
              <Stars count={stars} /> for{" "}
              <bdi>{role === "buyer" ? task.buyer.displayName : bid?.bidder.displayName}</bdi>, the {role},{" "}
              <Time at={createdAt} />
            </figcaption>
            {comment !== null && <LongText text={comment} />}
          </figure>
        ))}
      </div>
    </Section>
  );
}

/** What waits for whom, in one sentence, with the deadline. */
export function WhatNow({ task, bid, isBuyer }: { task: Task; bid: Bid | undefined; isBuyer: boolean }) {
  const { status, deliveryDueAt, acceptanceDeadlineAt } = task;
  if (status === "awarded" && deliveryDueAt !== null) {
    return (
      <Notice kind="info" title={isBuyer ? "The work is under way" : "It is your turn: deliver"}>
        Due in <Countdown to={deliveryDueAt} over="— the time is over, but it can still be delivered for a while" />.
      </Notice>
    );
  }
  if (status === "delivered" && acceptanceDeadlineAt !== null) {
    return (
      <Notice
        kind="warn"
        title={isBuyer ? "It is your turn: look at the delivery" : "The buyer looks at your delivery"}
      >
        Without an answer, {bid ? formatMoney(bid.priceCents) : "the price"}{" "}
        {isBuyer ? "goes to the bidder" : "is yours"} in <Countdown to={acceptanceDeadlineAt} over="a moment" />.
      </Notice>
    );
  }
  return null;
}
