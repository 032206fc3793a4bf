/**
 * Finds every cent and every acknowledged request that is not where it must be. Reads the database and the processor's
 * own file with plain SQL, through none of the code that wrote them. Each check returns its differences.
 */
import { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import { WITHDRAWAL_PREFIX } from "../../server/market/fees/withdrawals.ts";
import type { Acknowledgement } from "./load.ts";

type Row = Record<string, unknown>;

async function differences(client: pg.Client, what: string, sql: string, values: unknown[] = []): Promise<string[]> {
  const { rows } = await client.query<Row>(sql, values);
  return rows.map((row) => `${what}: ${JSON.stringify(row)}`);
}

/** All differences between what was acknowledged, what the ledger says and what the processor has in its books. */
export async function findDifferences(
  client: pg.Client,
  acknowledged: Acknowledgement[],
  processorFile: string,
): Promise<string[]> {
  const processor = new DatabaseSync(processorFile, { readOnly: true });
  try {
    return [
      ...(await lostAcknowledgements(client, acknowledged)),
      ...(await doneTwice(client, acknowledged)),
      ...(await ledgerDifferences(client)),
      ...(await approvalDifferences(client)),
      ...(await topupDifferences(client, processor)),
      ...(await payoutDifferences(client, processor)),
      ...(await balanceDifferences(client, processor)),
    ];
  } finally {
    processor.close();
  }
}

/** What the platform takes in these runs. */
const FEE = { basisPoints: 1_000, minCents: 40, maxCents: 300 } as const;

/** Sets the platform's fee, before any bid. */
export async function setFee(client: pg.Client): Promise<void> {
  const { basisPoints, minCents, maxCents } = FEE;
  const insert = "INSERT INTO fee_schedules (basis_points, min_cents, max_cents) VALUES ($1, $2, $3)";
  await client.query(insert, [basisPoints, minCents, maxCents]);
}

/** What a task has brought its two sides in the end: what was held and has returned comes to nothing. */
const moneyOfTask = `CROSS JOIN LATERAL (
    SELECT coalesce(sum(e.amount_cents) FILTER (WHERE e.user_id = t.buyer_id), 0) AS buyer,
           coalesce(sum(e.amount_cents) FILTER (WHERE e.user_id = t.awarded_bidder_id), 0) AS bidder
    FROM ledger_transfers l JOIN ledger_entries e ON e.transfer_id = l.id
    WHERE l.task_id = t.id AND e.kind IN ('hold', 'hold_release', 'task_payment', 'task_earning', 'dispute_refund')) m`;

const agreed = `SELECT a.*, g.kind, g.status, t.status AS task_status, t.closed_because, m.* FROM acknowledged a
      LEFT JOIN agreements g ON g.id = a."agreementId" LEFT JOIN tasks t ON t.id = a."taskId"
      LEFT JOIN disputes d ON d.task_id = t.id ${moneyOfTask}`;

const settled = `${agreed}
    WHERE (g.task_id, g.kind, g.status, g.bidder_cents)
        IS DISTINCT FROM (a."taskId", 'settle', 'accepted', a."bidderCents")
      OR (t.status, t.closed_because, m.buyer, m.bidder)
        IS DISTINCT FROM ('resolved', 'agreed', -a."bidderCents", a."bidderCents")
      OR (d.id IS NOT NULL) IS DISTINCT FROM (a.kind = 'settleDispute')
      OR (d.id IS NOT NULL AND (d.status, d.resolution, d.buyer_cents, d.bidder_cents)
        IS DISTINCT FROM ('resolved', 'settled', a."buyerCents", a."bidderCents"))`;

/**
 * For each kind, the acknowledgements (JSON in `$1`) whose rows are missing, or in neither that state nor a later one.
 */
const lostQueries: Record<Acknowledgement["kind"], string> = {
  signup: `SELECT a.* FROM acknowledged a LEFT JOIN users u ON u.id = a."userId"
    WHERE u.email IS DISTINCT FROM a.email`,
  topup: `SELECT a.* FROM acknowledged a LEFT JOIN topups t ON t.session_id = a."sessionId"
    WHERE t.user_id IS DISTINCT FROM a."userId" OR t.amount_cents IS DISTINCT FROM a."amountCents"`,
  post: `SELECT a.* FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId"
    WHERE t.buyer_id IS DISTINCT FROM a."buyerId"`,
  decide: `SELECT a.*, p.status AS now FROM acknowledged a LEFT JOIN approvals p ON p.id = a."approvalId"
    WHERE p.status IS DISTINCT FROM a.status`,
  // The last budget that was acknowledged; only one client edits a task, and each edit was answered before the next.
  edit: `SELECT a.*, t.max_budget_cents FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId"
    WHERE t.max_budget_cents IS DISTINCT FROM a."budgetCents"`,
  bid: `SELECT a.* FROM acknowledged a LEFT JOIN bids b ON b.id = a."bidId"
    WHERE b.task_id IS DISTINCT FROM a."taskId" OR b.bidder_id IS DISTINCT FROM a."bidderId"
       OR b.price_cents IS DISTINCT FROM a."priceCents"`,
  withdraw: `SELECT a.*, b.status FROM acknowledged a LEFT JOIN bids b ON b.id = a."bidId"
    WHERE b.status IS DISTINCT FROM 'withdrawn'`,
  cancel: `SELECT a.*, t.status FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId"
    WHERE t.status IS DISTINCT FROM 'cancelled'`,
  award: `SELECT a.*, t.status FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId"
      LEFT JOIN bids b ON b.id = a."bidId"
    WHERE t.awarded_bid_id IS DISTINCT FROM a."bidId" OR b.status IS DISTINCT FROM 'awarded'`,
  deliver: `SELECT a.*, t.status FROM acknowledged a LEFT JOIN artifacts f ON f.id = a."deliveryId"
      LEFT JOIN tasks t ON t.id = f.task_id
    WHERE t.id IS DISTINCT FROM a."taskId" OR t.status IN ('open', 'expired')`,
  requestChanges: `SELECT a.* FROM acknowledged a LEFT JOIN change_rounds r ON r.task_id = a."taskId" AND r.round = a.round
    WHERE r.id IS NULL`,
  declineChanges: `SELECT a.*, r.declined_by FROM acknowledged a
      LEFT JOIN change_rounds r ON r.task_id = a."taskId" AND r.round = a.round
    WHERE r.declined_by IS DISTINCT FROM 'bidder'`,
  roundEnds: `SELECT a.*, r.* FROM acknowledged a
      LEFT JOIN change_rounds r ON r.task_id = a."taskId" AND r.round = a.round
    WHERE r.declined_by IS DISTINCT FROM 'clock' OR r.ended_at IS DISTINCT FROM r.due_at`,
  giveBack: `SELECT a.*, t.status, t.closed_because, m.* FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId" ${moneyOfTask}
    WHERE (t.status, t.closed_because, m.buyer, m.bidder) IS DISTINCT FROM ('cancelled', 'given_back', 0, 0)`,
  // Later, a round of changes has its own due time.
  extend: `SELECT a.*, g.*, t.delivery_due_at AS due FROM acknowledged a
      LEFT JOIN agreements g ON g.id = a."agreementId" LEFT JOIN tasks t ON t.id = a."taskId"
    WHERE (g.task_id, g.kind, g.status, g.delivery_due_at)
        IS DISTINCT FROM (a."taskId", 'extend', 'accepted', a."deliveryDueAt")
      OR (t.delivery_due_at <> a."deliveryDueAt"
        AND NOT EXISTS (SELECT FROM change_rounds r WHERE r.task_id = t.id AND r.created_at > g.ended_at))`,
  cancelTogether: `${agreed}
    WHERE (g.task_id, g.kind, g.status) IS DISTINCT FROM (a."taskId", 'cancel', 'accepted')
       OR (t.status, t.closed_because, m.buyer, m.bidder) IS DISTINCT FROM ('cancelled', 'agreed', 0, 0)`,
  settle: settled,
  settleDispute: settled,
  endAgreement: `SELECT a.*, g.status AS now FROM acknowledged a LEFT JOIN agreements g ON g.id = a."agreementId"
    WHERE g.status IS DISTINCT FROM a.status`,
  accept: `SELECT a.*, t.status, t.accepted_at FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId"
    WHERE t.status IS DISTINCT FROM 'accepted' OR t.accepted_at IS DISTINCT FROM a."acceptedAt"`,
  acceptOnChecks: `SELECT a.*, t.status, t.accepted_at, t.accepted_by FROM acknowledged a LEFT JOIN tasks t ON t.id = a."taskId"
    WHERE (t.status, t.accepted_by, t.accepted_at) IS DISTINCT FROM ('accepted', 'checks', a."acceptedAt")`,
  dispute: `SELECT a.*, d.opened_by, t.status FROM acknowledged a LEFT JOIN disputes d ON d.id = a."disputeId"
      LEFT JOIN tasks t ON t.id = d.task_id
    WHERE t.id IS DISTINCT FROM a."taskId" OR d.opened_by IS DISTINCT FROM a."openedBy"
       OR t.status NOT IN ('disputed', 'resolved')`,
  resolve: `SELECT a.*, d.buyer_cents, d.bidder_cents, t.status FROM acknowledged a
      LEFT JOIN disputes d ON d.id = a."disputeId" LEFT JOIN tasks t ON t.id = d.task_id
    WHERE t.id IS DISTINCT FROM a."taskId" OR t.status IS DISTINCT FROM 'resolved' OR d.status IS DISTINCT FROM 'resolved'
       OR (d.buyer_cents, d.bidder_cents) IS DISTINCT FROM (a."buyerCents", a."bidderCents")`,
  payout: `SELECT a.*, e.amount_cents FROM acknowledged a LEFT JOIN ledger_entries e ON e.id = a."ledgerId"
      LEFT JOIN payouts p ON p.ledger_entry_id = a."ledgerId"
    WHERE e.user_id IS DISTINCT FROM a."userId" OR e.amount_cents IS DISTINCT FROM -a."amountCents"
       OR p.amount_cents IS DISTINCT FROM a."amountCents"`,
  withdrawFees: `SELECT a.*, e.* FROM acknowledged a LEFT JOIN ledger_transfers t ON t.external_ref = '${WITHDRAWAL_PREFIX}' || a.reference
      LEFT JOIN ledger_entries e ON e.transfer_id = t.id AND e.bucket = 'platform'
    WHERE (e.kind, e.amount_cents) IS DISTINCT FROM ('fee_withdrawal', -a."amountCents"::bigint)`,
};

/** An acknowledgement's fields, as columns of one type for all kinds. */
const acknowledgedRows = `WITH acknowledged AS (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS a ("userId" uuid, email text, "sessionId" text, "amountCents" int,
    "taskId" uuid, "buyerId" uuid, "budgetCents" int, "bidId" uuid, "bidderId" uuid, "priceCents" int,
    "deliveryId" uuid, "acceptedAt" timestamptz, "ledgerId" uuid, "disputeId" uuid, "openedBy" text,
    "agreementId" uuid, "approvalId" uuid, "deliveryDueAt" timestamptz, kind text, status text, round int,
    "buyerCents" int, "bidderCents" int, reference text))`;

async function lostAcknowledgements(client: pg.Client, acknowledged: Acknowledgement[]): Promise<string[]> {
  const lost: string[] = [];
  for (const [kind, query] of Object.entries(lostQueries)) {
    const ofKind = JSON.stringify(acknowledged.filter((one) => one.kind === kind));
    lost.push(
      ...(await differences(client, `an acknowledged ${kind} is lost`, `${acknowledgedRows} ${query}`, [ofKind])),
    );
  }
  return lost;
}

/**
 * What a client repeats until it is told of one is there for every acknowledgement and for nothing else: another row is a
 * request that was carried out twice.
 */
const doubledQueries: Partial<Record<Acknowledgement["kind"], string>> = {
  topup: `SELECT t.* FROM topups t LEFT JOIN acknowledged a ON a."sessionId" = t.session_id WHERE a.* IS NULL`,
  post: `SELECT t.* FROM tasks t LEFT JOIN acknowledged a ON a."taskId" = t.id WHERE a.* IS NULL`,
  payout: `SELECT p.* FROM payouts p LEFT JOIN acknowledged a ON a."ledgerId" = p.ledger_entry_id WHERE a.* IS NULL`,
  withdrawFees: `SELECT t.* FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    LEFT JOIN acknowledged a ON '${WITHDRAWAL_PREFIX}' || a.reference = t.external_ref
    WHERE e.kind = 'fee_withdrawal' AND e.bucket = 'platform' AND a.* IS NULL`,
};

async function doneTwice(client: pg.Client, acknowledged: Acknowledgement[]): Promise<string[]> {
  const doubled: string[] = [];
  for (const [kind, query] of Object.entries(doubledQueries)) {
    const ofKind = JSON.stringify(acknowledged.filter((one) => one.kind === kind));
    doubled.push(...(await differences(client, `a ${kind} was done twice`, `${acknowledgedRows} ${query}`, [ofKind])));
  }
  return doubled;
}

async function ledgerDifferences(client: pg.Client): Promise<string[]> {
  return [
    ...(await differences(
      client,
      "a wallet differs from the fold of its entries",
      `SELECT w.*, e.* FROM wallets w FULL JOIN (
         SELECT user_id AS entry_user, coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available,
                coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held,
                coalesce(-sum(amount_cents) FILTER (WHERE bucket = 'debt'), 0) AS debt,
                count(*) AS entries, max(version) AS last_version
         FROM ledger_entries WHERE user_id IS NOT NULL GROUP BY user_id) e ON e.entry_user = w.user_id
       WHERE (w.available_cents, w.held_cents, w.debt_cents, w.version, w.version)
         IS DISTINCT FROM (e.available, e.held, e.debt, e.entries, e.last_version)
         AND NOT (e.entry_user IS NULL AND (w.available_cents, w.held_cents, w.debt_cents, w.version) = (0, 0, 0, 0))`,
    )),
    ...(await differences(
      client,
      "a balance does not follow from the one before",
      `SELECT * FROM (
         SELECT id, user_id, bucket, version, amount_cents, balance_after_cents,
                coalesce(lag(balance_after_cents) OVER (PARTITION BY user_id, bucket ORDER BY version), 0) AS before_cents
         FROM ledger_entries WHERE user_id IS NOT NULL) chain
       WHERE before_cents + amount_cents <> balance_after_cents`,
    )),
    ...(await differences(
      client,
      "a movement does not sum to zero",
      `SELECT t.id, t.external_ref, sum(e.amount_cents), count(e.id) FROM ledger_transfers t
       LEFT JOIN ledger_entries e ON e.transfer_id = t.id
       GROUP BY t.id HAVING coalesce(sum(e.amount_cents), 1) <> 0 OR count(e.id) < 2`,
    )),
    ...(await differences(
      client,
      "all accounts together are not zero",
      "SELECT sum(amount_cents) FROM ledger_entries HAVING sum(amount_cents) <> 0",
    )),
    ...(await differences(
      client,
      "held money is not the open holds",
      `SELECT user_id, held_cents, open_holds FROM wallets FULL JOIN (
         SELECT t.buyer_id, sum(CASE WHEN t.status = 'open' THEN t.max_budget_cents ELSE b.price_cents END) AS open_holds
         FROM tasks t LEFT JOIN bids b ON b.id = t.awarded_bid_id
         WHERE t.status IN ('open', 'awarded', 'delivered', 'disputed') GROUP BY t.buyer_id) h ON h.buyer_id = user_id
       WHERE coalesce(held_cents, 0) <> coalesce(open_holds, 0)`,
    )),
    ...(await differences(
      client,
      "a task is held or paid other than once",
      `SELECT t.id, t.status, sum(e.amount_cents) FILTER (WHERE e.bucket = 'held') AS held,
              sum(e.amount_cents) FILTER (WHERE e.kind = 'task_earning') AS earned, b.price_cents, d.bidder_cents, g.bidder_cents AS agreed
       FROM tasks t LEFT JOIN bids b ON b.id = t.awarded_bid_id LEFT JOIN disputes d ON d.task_id = t.id
       LEFT JOIN agreements g ON g.task_id = t.id AND g.status = 'accepted' AND g.kind = 'settle'
       LEFT JOIN ledger_transfers m ON m.task_id = t.id LEFT JOIN ledger_entries e ON e.transfer_id = m.id
       GROUP BY t.id, b.price_cents, d.bidder_cents, g.bidder_cents
       HAVING coalesce(sum(e.amount_cents) FILTER (WHERE e.bucket = 'held'), 0) <> CASE
                WHEN t.status = 'open' THEN t.max_budget_cents
                WHEN t.status IN ('awarded', 'delivered', 'disputed') THEN b.price_cents ELSE 0 END
           OR coalesce(sum(e.amount_cents) FILTER (WHERE e.kind = 'task_earning'), 0) IS DISTINCT FROM CASE t.status
                WHEN 'accepted' THEN b.price_cents WHEN 'resolved' THEN coalesce(g.bidder_cents, d.bidder_cents) ELSE 0 END`,
    )),
    ...(await differences(
      client,
      "a fee is not taken once, of what the bidder is paid",
      `SELECT t.id, t.status, b.price_cents, b.fee_cents, paid.cents AS paid, due.cents AS due, taken.cents AS taken FROM tasks t
       LEFT JOIN bids b ON b.id = t.awarded_bid_id LEFT JOIN disputes d ON d.task_id = t.id
       LEFT JOIN agreements g ON g.task_id = t.id AND g.status = 'accepted' AND g.kind = 'settle'
       CROSS JOIN LATERAL (SELECT CASE t.status WHEN 'accepted' THEN b.price_cents
         WHEN 'resolved' THEN coalesce(g.bidder_cents, d.bidder_cents) ELSE 0 END AS cents) paid
       CROSS JOIN LATERAL (SELECT least(paid.cents, ${FEE.maxCents}, greatest(paid.cents * ${FEE.basisPoints} / 10000,
         CASE WHEN g.id IS NULL AND paid.cents < b.price_cents THEN 0 ELSE ${FEE.minCents} END)) AS cents) due
       CROSS JOIN LATERAL (
         SELECT coalesce(sum(e.amount_cents) FILTER (WHERE e.bucket = 'platform'), 0) AS cents,
                coalesce(sum(e.amount_cents) FILTER (WHERE e.user_id = b.bidder_id), 0) AS of_bidder
         FROM ledger_transfers l JOIN ledger_entries e ON e.transfer_id = l.id
         WHERE l.task_id = t.id AND e.kind = 'platform_fee') taken
       WHERE (taken.cents, -taken.of_bidder) IS DISTINCT FROM (due.cents::numeric, due.cents::numeric)`,
    )),
    ...(await differences(
      client,
      "a dispute is not divided as it was decided, to the cent and to its two sides",
      `SELECT d.*, t.status AS task_status, b.price_cents, m.* FROM disputes d
       LEFT JOIN tasks t ON t.id = d.task_id LEFT JOIN bids b ON b.id = t.awarded_bid_id
       CROSS JOIN LATERAL (
         SELECT coalesce(sum(e.amount_cents) FILTER (WHERE e.kind = 'dispute_refund' AND e.user_id = t.buyer_id), 0) AS back,
                coalesce(sum(e.amount_cents) FILTER (WHERE e.kind = 'task_earning' AND e.user_id = b.bidder_id), 0) AS paid
         FROM ledger_transfers l JOIN ledger_entries e ON e.transfer_id = l.id
         WHERE l.task_id = d.task_id AND e.bucket = 'available') m
       WHERE (m.back, m.paid) IS DISTINCT FROM (coalesce(d.buyer_cents, 0), coalesce(d.bidder_cents, 0))
          OR d.buyer_cents + d.bidder_cents IS DISTINCT FROM CASE d.status WHEN 'resolved' THEN b.price_cents END
          OR t.status IS DISTINCT FROM CASE d.status WHEN 'open' THEN 'disputed' ELSE 'resolved' END
          OR d.resolution IS DISTINCT FROM CASE WHEN d.status = 'open' THEN NULL
             WHEN EXISTS (SELECT FROM agreements g WHERE g.task_id = t.id AND g.status = 'accepted' AND g.kind = 'settle')
               THEN 'settled'
             WHEN d.bidder_cents = 0 THEN 'refund' WHEN d.buyer_cents = 0 THEN 'release' ELSE 'split' END`,
    )),
    ...(await differences(
      client,
      "a change of a task has not exactly one event",
      `SELECT t.id, t.status, e.type, e.expected, count(v.id) FROM tasks t LEFT JOIN disputes d ON d.task_id = t.id
       CROSS JOIN LATERAL (
         SELECT count(*) AS proposed, count(*) FILTER (WHERE status <> 'pending') AS ended,
                count(*) FILTER (WHERE status = 'accepted' AND kind = 'settle') AS settled
         FROM agreements WHERE task_id = t.id) g
       CROSS JOIN LATERAL (
         SELECT count(*) AS asked, count(declined_by) AS declined FROM change_rounds WHERE task_id = t.id) r
       CROSS JOIN LATERAL (VALUES ('task.created', 1), ('task.awarded', (t.awarded_at IS NOT NULL)::int),
         ('delivery.posted', (SELECT count(*) FROM artifacts f WHERE f.task_id = t.id AND f.kind = 'delivery')),
         ('delivery.checked', (SELECT count(f.checks) FROM artifacts f WHERE f.task_id = t.id AND f.kind = 'delivery')),
         ('task.accepted', (t.status = 'accepted')::int), ('task.cancelled', (t.status = 'cancelled')::int),
         ('task.disputed', (d.id IS NOT NULL)::int), ('task.dispute_resolved', (d.status = 'resolved' IS TRUE)::int),
         ('task.changes_requested', r.asked), ('task.changes_declined', r.declined), ('task.settled', g.settled),
         ('agreement.proposed', g.proposed), ('agreement.ended', g.ended)) AS e (type, expected)
       LEFT JOIN events v ON v.task_id = t.id AND v.type = e.type
       GROUP BY t.id, e.type, e.expected HAVING count(v.id) <> e.expected`,
    )),
  ];
}

/** What was approved was done once, and what was not approved was not done: no task of an agent is without its approval. */
const approvalDifferences = (client: pg.Client): Promise<string[]> =>
  differences(
    client,
    "a task of an agent does not belong to one approval",
    `SELECT v.task_id, a.id, a.status FROM (
       SELECT task_id, actor_key_id FROM events WHERE type = 'task.created' AND actor_key_id IS NOT NULL) v
     FULL JOIN (SELECT * FROM approvals WHERE status = 'approved') a ON a.result -> 'task' ->> 'id' = v.task_id::text
     WHERE v.task_id IS NULL OR a.id IS NULL OR a.key_id <> v.actor_key_id`,
  );

/** Our credits against the processor's paid sessions, one by one. */
async function topupDifferences(client: pg.Client, processor: DatabaseSync): Promise<string[]> {
  const found: string[] = [];
  const sessions = processor
    .prepare(`SELECT body ->> '$.id' AS id, body ->> '$.payment_intent' AS payment_intent, body ->> '$.amount_total' AS cents
      FROM objects WHERE kind = 'checkout.session' AND body ->> '$.payment_status' = 'paid'`)
    .all();
  const paid = new Map(sessions.map((row) => [String(row.payment_intent), row]));
  const { rows: credits } = await client.query<Row>(`
    SELECT t.external_ref, e.amount_cents, p.session_id, p.status, p.amount_cents AS topup_cents, e.user_id = p.user_id AS own
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    LEFT JOIN topups p ON p.payment_intent_id = t.external_ref
    WHERE e.kind = 'topup' AND e.bucket = 'available'`);
  for (const credit of credits) {
    const session = paid.get(String(credit.external_ref));
    const agrees =
      session !== undefined &&
      credit.session_id === session.id &&
      Number(credit.amount_cents) === Number(session.cents) &&
      Number(credit.topup_cents) === Number(session.cents) &&
      credit.status === "paid" &&
      credit.own === true;
    if (!agrees) found.push(`a credit is not a paid session: ${JSON.stringify({ credit, session })}`);
    paid.delete(String(credit.external_ref));
  }
  for (const session of paid.values()) found.push(`a paid session is not credited: ${JSON.stringify(session)}`);
  return found;
}

/** What the processor has for one payout of ours. Amounts are cents. */
interface Sent {
  transfers: Row[];
  payouts: Row[];
}

/**
 * At most one transfer and one payout for each of our rows, and none without a row; each in the state that the row
 * says.
 */
async function payoutDifferences(client: pg.Client, processor: DatabaseSync): Promise<string[]> {
  const sent = new Map<string, Sent>();
  const sentFor = (id: unknown): Sent => {
    const known = sent.get(String(id)) ?? { transfers: [], payouts: [] };
    sent.set(String(id), known);
    return known;
  };
  const transfers = `SELECT body ->> '$.transfer_group' AS payout, body ->> '$.amount' AS cents,
    body ->> '$.amount_reversed' AS reversed FROM objects WHERE kind = 'transfer'`;
  for (const row of processor.prepare(transfers).all()) sentFor(row.payout).transfers.push(row);
  const payouts = `SELECT body ->> '$.metadata.payoutId' AS payout, body ->> '$.amount' AS cents,
    body ->> '$.status' AS status FROM objects WHERE kind = 'payout'`;
  for (const row of processor.prepare(payouts).all()) sentFor(row.payout).payouts.push(row);

  const { rows } = await client.query<Row>(`
    SELECT p.id, p.amount_cents::int AS cents, p.state,
           (SELECT count(*)::int FROM ledger_transfers WHERE external_ref = 'payout:' || p.id) AS debits,
           (SELECT count(*)::int FROM ledger_transfers WHERE external_ref = 'payout:' || p.id || ':reversal') AS credits
    FROM payouts p`);
  const found: string[] = [];
  for (const row of rows) {
    const { transfers, payouts } = sentFor(row.id);
    sent.delete(String(row.id));
    const [transfer, payout] = [transfers[0], payouts[0]];
    const isPaid =
      transfers.length === 1 &&
      payouts.length === 1 &&
      transfer?.cents === row.cents &&
      transfer?.reversed === 0 &&
      payout?.cents === row.cents &&
      payout?.status === "paid";
    const isBack =
      transfers.length <= 1 &&
      payouts.length <= 1 &&
      transfer?.reversed === transfer?.cents &&
      (payout === undefined || payout.status === "failed" || payout.status === "canceled");
    const agrees =
      row.state === "paid" ? isPaid && row.credits === 0 : row.state === "failed" && isBack && row.credits === 1;
    if (!agrees || row.debits !== 1) {
      found.push(`a payout differs from what was sent: ${JSON.stringify({ row, transfers, payouts })}`);
    }
  }
  for (const [id, other] of sent)
    found.push(`money was sent for no payout of ours: ${JSON.stringify({ id, ...other })}`);
  return found;
}

/**
 * The platform's balance is the ledger's outside account, but for withdrawals of fees, which the load books without paying them out;
 * nothing is left on a connected account.
 */
async function balanceDifferences(client: pg.Client, processor: DatabaseSync): Promise<string[]> {
  const accounts = processor
    .prepare("SELECT owner, cents FROM balances WHERE owner <> 'platform' AND cents <> 0")
    .all();
  const [platform] = processor
    .prepare(`SELECT coalesce(sum(cents), 0) - (
        SELECT coalesce(sum(body ->> '$.amount'), 0) FROM objects
        WHERE kind = 'balance_transaction' AND body ->> '$.type' = 'topup') AS cents
      FROM balances WHERE owner = 'platform'`)
    .all();
  const { rows } = await client.query<Row>(
    `SELECT coalesce(-sum(amount_cents), 0)::bigint AS cents FROM ledger_entries
     WHERE bucket = 'outside' AND kind <> 'fee_withdrawal'`,
  );
  const found = accounts.map((account) => `money is left on an account: ${JSON.stringify(account)}`);
  if (Number(platform?.cents) !== Number(rows[0]?.cents)) {
    found.push(`the platform's balance is ${platform?.cents} cents, our ledger has ${rows[0]?.cents} outside`);
  }
  return found;
}

/** What is still under way: a run ends only when nothing is. Jobs due in more than a minute do not count. */
export async function findUnsettled(client: pg.Client, processorFile: string): Promise<string[]> {
  const processor = new DatabaseSync(processorFile, { readOnly: true });
  try {
    const pending = processor.prepare("SELECT count(*) AS count FROM deliveries WHERE delivered_ms IS NULL").get();
    const scheduled = processor.prepare("SELECT count(*) AS count FROM schedule WHERE action <> 'expireSession'").get();
    // Events that were never sent are found in the processor's list, and a payout that fails late by polling it.
    const events = processor
      .prepare(`SELECT id FROM objects WHERE kind = 'event' AND (body ->> '$.type' GLOB 'checkout.session.*'
          OR body ->> '$.type' GLOB 'refund.*' OR body ->> '$.type' GLOB 'charge.dispute.funds_*')`)
      .all();
    const failed = processor
      .prepare(`SELECT body ->> '$.metadata.payoutId' AS id FROM objects
        WHERE kind = 'payout' AND body ->> '$.status' IN ('failed', 'canceled')`)
      .all();
    const { rows } = await client.query<Row>(
      `
      SELECT (SELECT count(*) FROM graphile_worker._private_jobs WHERE run_at < now() + interval '1 minute')::int AS jobs,
             (SELECT count(*) FROM processor_events WHERE processed_at IS NULL)::int AS events,
             (SELECT count(*) FROM tasks WHERE status = 'delivered')::int AS deliveries,
             (SELECT count(*) FROM artifacts WHERE checking)::int AS "deliveries to judge",
             (SELECT count(*) FROM tasks
              WHERE status = 'awarded' AND delivered_at IS NOT NULL AND delivery_due_at <= now())::int AS "rounds that are over",
             (SELECT count(*) FROM agreements WHERE status = 'pending')::int AS agreements,
             (SELECT count(*) FROM topups WHERE status = 'processing')::int AS topups,
             (SELECT count(*) FROM payouts
              WHERE state NOT IN ('paid', 'failed') OR (state = 'paid' AND id = ANY ($2::uuid[])))::int AS payouts,
             (SELECT count(*) FROM unnest($1::text[]) AS sent (id)
              WHERE NOT EXISTS (SELECT FROM processor_events p WHERE p.id = sent.id))::int AS "events not known"`,
      [events.map(({ id }) => id), failed.map(({ id }) => id)],
    );
    const counts = { ...rows[0], "events to send": pending?.count, "the processor's own steps": scheduled?.count };
    return Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .map(([what, count]) => `${what}: ${count}`);
  } finally {
    processor.close();
  }
}
