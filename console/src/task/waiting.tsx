import { Link } from "@tanstack/react-router";
import type { OwnTask } from "../api/client.ts";
import { plural } from "../parts/format.ts";
import { Rows } from "../parts/list.tsx";
import { Money } from "../parts/money.tsx";
import { Section } from "../parts/page.tsx";
import { Countdown } from "../parts/time.tsx";
import styles from "./waiting.module.css";

interface Turn {
  task: OwnTask;
  /** What to do. */
  what: string;
  cents: number;
  /** What the money does. */
  stake: string;
  deadline: string | null;
}

interface WaitingProps {
  posted: readonly OwnTask[];
  awarded: readonly OwnTask[];
}

/** What waits for this person, the soonest deadline first, with the money and the time that are at stake. */
export function Waiting({ posted, awarded }: WaitingProps) {
  const turns = [
    ...posted.flatMap(buyersTurn),
    ...awarded.flatMap(biddersTurn),
    ...[...posted, ...awarded].flatMap(proposal),
  ].toSorted(bySoonest);
  if (turns.length === 0) return null;
  return (
    <Section title="Waiting for you">
      <Rows label="Waiting for you">
        {turns.map((turn) => (
          <TurnRow key={turn.task.id + turn.what} turn={turn} />
        ))}
      </Rows>
    </Section>
  );
}

function buyersTurn(task: OwnTask): Turn[] {
  const { status, bidCount, maxBudgetCents, priceCents, acceptanceDeadlineAt: deadline } = task;
  if (status === "delivered") {
    const cents = priceCents ?? maxBudgetCents;
    return [{ task, what: "Accept or dispute the delivery", cents, stake: "is paid", deadline }];
  }
  if (status !== "open" || bidCount === 0) return [];
  const what = `Choose among ${plural(bidCount, "bid")}`;
  return [
    { task, what: bidCount === 1 ? "Look at the bid" : what, cents: maxBudgetCents, stake: "held", deadline: null },
  ];
}

function biddersTurn(task: OwnTask): Turn[] {
  if (task.status !== "awarded") return [];
  const { priceCents, maxBudgetCents, deliveredAt, deliveryDueAt: deadline } = task;
  // An awarded task with a delivery is in a round of changes.
  const what = deliveredAt === null ? "Deliver" : "Deliver again, or decline the changes";
  return [{ task, what, cents: priceCents ?? maxBudgetCents, stake: "due", deadline }];
}

/** Either side's turn: what the other one has proposed. */
function proposal(task: OwnTask): Turn[] {
  const { priceCents, maxBudgetCents, proposalExpiresAt: deadline } = task;
  if (deadline === null) return [];
  return [{ task, what: "Answer the proposal", cents: priceCents ?? maxBudgetCents, stake: "lapses", deadline }];
}

const bySoonest = (a: Turn, b: Turn) =>
  (a.deadline ? Date.parse(a.deadline) : Number.MAX_VALUE) - (b.deadline ? Date.parse(b.deadline) : Number.MAX_VALUE);

function TurnRow({ turn: { task, what, cents, stake, deadline } }: { turn: Turn }) {
  return (
    <li className={styles.row}>
      <div className={styles.what}>
        <Link to="/tasks/$taskId" params={{ taskId: task.id }} className={styles.title}>
          {what}
        </Link>
        <span className={styles.quiet} dir="auto">
          {task.title}
        </span>
      </div>
      <div className={styles.stake}>
        <strong>
          <Money cents={cents} />
        </strong>
        <small>
          {stake}
          {deadline !== null && (
            <>
              {" "}
              <Countdown to={deadline} before="in " over={stake === "due" ? "already" : "now"} />
            </>
          )}
        </small>
      </div>
    </li>
  );
}
