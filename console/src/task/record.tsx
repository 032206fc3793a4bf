import type { ReactNode } from "react";
import type { BriefFile, DisputeCase } from "../api/client.ts";
import { Checklist } from "../checks/checklist.tsx";
import { Badge } from "../parts/badge.tsx";
import { formatDisputes, formatHours, formatMinute } from "../parts/format.ts";
import { Fact, Facts } from "../parts/list.tsx";
import { LongText } from "../parts/longText.tsx";
import { Money } from "../parts/money.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Person } from "../parts/person.tsx";
import { PlainText } from "../parts/plainText.tsx";
import { DisputeState } from "./dispute.tsx";
import { File } from "./files.tsx";
import styles from "./record.module.css";

/** All that a dispute is decided by: both sides see what the moderator sees. */
export function DisputeRecord({ page }: { page: DisputeCase }) {
  const { dispute, brief, samples, deliveries } = page;
  const { checks } = page.task;
  const judged = deliveries.filter((delivery) => delivery.checks.length > 0);
  return (
    <>
      {judged.map((delivery) => (
        <Section
          key={delivery.id}
          title={delivery.supersededAt === null ? "What the checks say" : "What they said about an earlier delivery"}
          lead={
            delivery.supersededAt === null && "Both sides had agreed on them. They judged the delivery by themselves."
          }
        >
          <Checklist results={delivery.checks} checks={checks} />
        </Section>
      ))}
      {dispute.status === "open" ? (
        <Section title={`What is wrong, says the ${dispute.openedBy}`} card>
          <LongText text={dispute.reason} />
        </Section>
      ) : (
        <DisputeState dispute={dispute} />
      )}
      <div className={styles.sides}>
        <BuyerSide page={page} />
        <BidderSide page={page} />
      </div>
      {brief.files.length > 0 && (
        <Section title="Files of the brief" lead="As they were at the award.">
          {brief.files.map((file) => (
            <File key={file.id} file={file} note={<BriefNote file={file} />} />
          ))}
        </Section>
      )}
      <Section title="What was delivered">
        {deliveries.map((file) => (
          <File key={file.id} file={file} note={file.supersededAt !== null && <Badge>Replaced by a later one</Badge>} />
        ))}
        {deliveries.length === 0 && <Notice>Nothing was delivered.</Notice>}
      </Section>
      {samples.length > 0 && (
        <Section title="Samples before it">
          {samples.map((file) => (
            <File key={file.id} file={file} />
          ))}
        </Section>
      )}
      <Rounds page={page} />
      <Said page={page} />
    </>
  );
}

/** What the buyer asked for, in the words that the award has frozen. */
function BuyerSide({ page: { task, brief, reputations } }: { page: DisputeCase }) {
  return (
    <Section title="The buyer asked for" card>
      <Facts>
        <Fact name="Buyer">
          <Person person={task.buyer} as="buyer" />
        </Fact>
        <Fact name="Disputes">{formatDisputes(reputations.buyer.buyer)}</Fact>
        <Fact name="Budget">
          <Money cents={task.maxBudgetCents} />
        </Fact>
      </Facts>
      <h3 dir="auto">{brief.title}</h3>
      <LongText text={brief.description} />
      {brief.acceptanceCriteria !== null && (
        <>
          <h3>It is accepted when</h3>
          <LongText text={brief.acceptanceCriteria} />
        </>
      )}
      <Hash of="SHA-256 of these texts" value={brief.sha256} />
    </Section>
  );
}

/** What the bidder promised, and when they delivered. */
function BidderSide({ page: { task, bid, reputations } }: { page: DisputeCase }) {
  return (
    <Section title="The bidder offered" card>
      <Facts>
        <Fact name="Bidder">
          <Person person={bid.bidder} as="bidder" />
        </Fact>
        <Fact name="Disputes">{formatDisputes(reputations.bidder.bidder)}</Fact>
        <Fact name="Price">
          <Money cents={bid.priceCents} />
        </Fact>
        <Fact name="Time">{formatHours(bid.etaHours)}</Fact>
        {task.deliveryDueAt && <Fact name="Due">{formatMinute(task.deliveryDueAt)}</Fact>}
        {task.deliveredAt && <Fact name="Delivered">{formatMinute(task.deliveredAt)}</Fact>}
      </Facts>
      {bid.notes !== null && <LongText text={bid.notes} />}
    </Section>
  );
}

function BriefNote({ file: { visibility, sha256 } }: { file: BriefFile }) {
  return (
    <>
      {visibility === "awarded" && <Badge>For the awarded bidder</Badge>}
      {sha256 !== null && <Hash of="SHA-256" value={sha256} />}
    </>
  );
}

/** What anybody can compare with a copy of their own. */
function Hash({ of, value }: { of: string; value: string }) {
  return (
    <small className={styles.hash}>
      {of}: <code>{value}</code>
    </small>
  );
}

/** The rounds of changes, oldest first. */
function Rounds({ page: { rounds } }: { page: DisputeCase }) {
  if (rounds.length === 0) return null;
  return (
    <Section title="Changes that the buyer asked for">
      <ol className={styles.list} aria-label="Rounds of changes">
        {rounds.map(({ round, reason, requestedAt, dueAt, declinedBy, declinedReason, endedAt }) => (
          <li key={round}>
            <Line at={requestedAt}>
              <b>Round {round}</b>, due {formatMinute(dueAt)}
            </Line>
            <PlainText text={reason} />
            {endedAt !== null && (
              <>
                <Line at={endedAt}>
                  {declinedBy === null && "The bidder delivered again."}
                  {declinedBy === "bidder" && "The bidder declined:"}
                  {declinedBy === "clock" && "Nothing came in time, so the earlier delivery stood again."}
                </Line>
                {declinedReason !== null && <PlainText text={declinedReason} />}
              </>
            )}
          </li>
        ))}
      </ol>
    </Section>
  );
}

type Statement = DisputeCase["said"][number];

const roles = { buyer: "the buyer", bidder: "the bidder", moderator: "a moderator", visitor: "interested in the task" };
const verbs = { question: "asked", answer: "answered", message: "wrote" };

/** Questions, answers and messages, in order of time. */
function Said({ page: { said } }: { page: DisputeCase }) {
  return (
    <Section title="What was said" lead="Questions, answers and messages, the oldest first. Of each, the last hundred.">
      {said.length === 0 ? (
        <Notice>Nothing that you may read.</Notice>
      ) : (
        <ol className={styles.list} aria-label="What was said">
          {said.map((statement) => (
            <Stated key={`${statement.kind} ${statement.id}`} statement={statement} />
          ))}
        </ol>
      )}
    </Section>
  );
}

function Stated({ statement: { kind, by, role, text, files, createdAt } }: { statement: Statement }) {
  const isRemoved = text === null && kind !== "message";
  return (
    <li>
      <Line at={createdAt}>
        <Person person={by} />, {roles[role]}, {verbs[kind]}:
      </Line>
      {isRemoved && <p className={styles.quiet}>A moderator removed this question.</p>}
      {text !== null && <PlainText text={text} />}
      {files.map((file) => (
        <File key={file.id} file={file} note={file.sha256 && <Hash of="SHA-256" value={file.sha256} />} />
      ))}
    </li>
  );
}

/** Who did something, and exactly when. */
function Line({ at, children }: { at: string; children: ReactNode }) {
  return (
    <header>
      <span>{children}</span>
      <time dateTime={at}>{formatMinute(at)}</time>
    </header>
  );
}
