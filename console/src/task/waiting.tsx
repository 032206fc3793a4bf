import { Link } from "@tanstack/react-router";
import type { Approval, OwnTask } from "../api/client.ts";
import { plural } from "../parts/format.ts";
import { Rows } from "../parts/list.tsx";
import { Money } from "../parts/money.tsx";
import { Section } from "../parts/page.tsx";
import { Countdown } from "../parts/time.tsx";
import styles from "./waiting.module.css";

interface Turn {
  /** Of the task, or of what an agent asks. */
  about: { taskId: string } | { approvalId: string };
  title: string;
  /** What to do. */
  what: string;
  cents: number;
  /** What the money does. */
  stake: string;
  deadline: string | null;
}

interface WaitingProps {
  asked: readonly Approval[];
  posted: readonly OwnTask[];
  awarded: readonly OwnTask[];
}

/** What waits for this person, the soonest deadline first, with the money and the time that are at stake. */
export function Waiting({ asked, posted, awarded }: WaitingProps) {
  const turns = [
    ...asked.map(answer),
    ...posted.flatMap(buyersTurn),
    ...awarded.flatMap(biddersTurn),
    ...[...posted, ...awarded].flatMap(proposal),
  ].toSorted(bySoonest);
  if (turns.length === 0) return null;
  return (
    <Section title="Waiting for you">
      <Rows label="Waiting for you">
        {turns.map((turn) => (
          <TurnRow key={Object.values(turn.about) + turn.what} turn={turn} />
        ))}
      </Rows>
    </Section>
  );
}

const subject = ({ id, title }: OwnTask) => ({ about: { taskId: id }, title });

const answer = ({ id, summary, amountCents, expiresAt }: Approval): Turn => ({
  ...{ about: { approvalId: id }, title: summary },
  ...{ what: "Answer your agent", cents: amountCents, stake: "lapses", deadline: expiresAt },
});

function buyersTurn(task: OwnTask): Turn[] {
  const { status, bidCount, maxBudgetCents, priceCents, acceptanceDeadlineAt: deadline } = task;
  if (status === "delivered") {
    const cents = priceCents ?? maxBudgetCents;
    return [{ ...subject(task), what: "Accept or dispute the delivery", cents, stake: "is paid", deadline }];
  }
  if (status !== "open" || bidCount === 0) return [];
  const what = `Choose among ${plural(bidCount, "bid")}`;
  const choice = { what: bidCount === 1 ? "Look at the bid" : what, cents: maxBudgetCents };
  return [{ ...subject(task), ...choice, stake: "held", deadline: null }];
}

function biddersTurn(task: OwnTask): Turn[] {
  if (task.status !== "awarded") return [];
  const { priceCents, maxBudgetCents, deliveredAt, deliveryDueAt: deadline } = task;
  // An awarded task with a delivery is in a round of changes.
  const what = deliveredAt === null ? "Deliver" : "Deliver again, or decline the changes";
  return [{ ...subject(task), what, cents: priceCents ?? maxBudgetCents, stake: "due", deadline }];
}

/** Either side's turn: what the other one has proposed. */
function proposal(task: OwnTask): Turn[] {
  const { priceCents, maxBudgetCents, proposalExpiresAt: deadline } = task;
  if (deadline === null) return [];
  const cents = priceCents ?? maxBudgetCents;
  return [{ ...subject(task), what: "Answer the proposal", cents, stake: "lapses", deadline }];
}

const bySoonest = (a: Turn, b: Turn) =>
  (a.deadline ? Date.parse(a.deadline) : Number.MAX_VALUE) - (b.deadline ? Date.parse(b.deadline) : Number.MAX_VALUE);

function TurnRow({ turn: { about, title, what, cents, stake, deadline } }: { turn: Turn }) {
  return (
    <li className={styles.row}>
      <div className={styles.what}>
        {"taskId" in about ? (
          <Link to="/tasks/$taskId" params={about} className={styles.title}>
            {what}
          </Link>
        ) : (
          <Link to="/approvals/$approvalId" params={about} className={styles.title}>
            {what}
          </Link>
        )}
        <span className={styles.quiet} dir="auto">
          {title}
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
