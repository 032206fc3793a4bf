/** The real side of the property test: the procedures over a real database, without HTTP and without a processor. */
import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { CallerWatch } from "../../../server/auth/callerWatch.ts";
import { openSecurityLog } from "../../../server/auth/securityLog.ts";
import { ApiError } from "../../../server/errors.ts";
import { openCursors } from "../../../server/events/cursor.ts";
import { EventFollower } from "../../../server/events/follower.ts";
import { guardedEgress } from "../../../server/gateways/egress.ts";
import { nothingKnown } from "../../../server/gateways/inspection/inspection.ts";
import { openJudge } from "../../../server/gateways/judging/judge.ts";
import type { Storage } from "../../../server/gateways/storage.ts";
import { stripeProcessor } from "../../../server/gateways/stripeProcessor.ts";
import { lapseAgreement } from "../../../server/market/agreements/lapse.ts";
import { checkDelivery } from "../../../server/market/checks/checkDelivery.ts";
import { applyProcessorEvent } from "../../../server/market/processorEvents/apply.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { endOverdueRound } from "../../../server/market/tasks/endOverdueRound.ts";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import { appRouter } from "../../../server/procedures/router.ts";
import { scopes } from "../../../server/schemas/scope.ts";
import type { Services } from "../../../server/services.ts";
import { sql } from "../../../server/store/connection.ts";
import type { Database } from "../../../server/store/database.ts";
import { primaryReads } from "../../../server/store/publicReads.ts";
import { toApiError } from "../../../server/translateErrors.ts";
import { buildContext } from "../../../server/trpc.ts";
import { TestClock } from "../../setup/testClock.ts";
import {
  ACCEPTANCE_HOURS,
  AGREEMENT_HOURS,
  CHANGES_HOURS,
  CHECKS_HOURS,
  type Command,
  ETA_HOURS,
  GRACE_HOURS,
  hasChecks,
  type Model,
  type ModelAgreement,
  type ModelDispute,
  type ModelTask,
  type ModelTopup,
  type ModelWallet,
  type Outcome,
  REVISIONS,
  refundOf,
} from "./model.ts";

const UPLOAD = { mimeType: "text/plain", bytes: 4 } as const;
const HOUR_SECONDS = 3_600;
/** What an agent may have to ask its user. */
const asked: readonly Command["kind"][] = ["post", "editBudget", "award", "accept", "payOut", "propose", "answer"];
/** What every delivery passes. */
const agreedChecks = {
  checks: [{ name: "Small", required: true, kind: "size" as const, maxBytes: UPLOAD.bytes }],
  acceptOnChecks: { afterMinutes: CHECKS_HOURS * 60 },
};

/** Every announced upload exists, because this test is about money. */
const storage: Storage = {
  origin: "http://127.0.0.1",
  presignUpload: async ({ storageKey }) => `http://127.0.0.1/${storageKey}`,
  presignDownload: async ({ storageKey }) => `http://127.0.0.1/${storageKey}`,
  seal: async (_storageKey, sealedKey) => ({
    ...UPLOAD,
    ...{ storageKey: sealedKey, sha256: null, start: new Uint8Array(UPLOAD.bytes) },
  }),
  write: async () => undefined,
  read: async () => new Uint8Array(UPLOAD.bytes),
  list: async () => [],
  head: async () => ({ ...UPLOAD, sha256: null }),
  delete: async () => undefined,
  close: async () => undefined,
};

/** The result of a command: its outcome, and the id of what it created. */
export interface Result {
  outcome: Outcome;
  createdId: string;
}

/** The database's money and the records it depends on, in the model's terms. `digest` covers every byte of them. */
export interface Observed {
  wallets: Map<string, ModelWallet>;
  tasks: Map<string, Pick<ModelTask, "status" | "budget" | "awardedBid" | "rounds" | "acceptedBy">>;
  agreements: Map<string, Pick<ModelAgreement, "status">>;
  bids: Map<string, { status: string; price: number; fee: number }>;
  payouts: Map<string, { failed: boolean }>;
  disputes: Map<string, Pick<ModelDispute, "openedBy" | "shares">>;
  platform: number;
  digest: string;
}

/** The users and the clock of one sequence, in a database that many sequences share. */
export class Stage {
  readonly users: string[];
  readonly #services: Services;
  readonly #clock = new TestClock();
  readonly #keys = new WeakMap<Command, string>();
  readonly #dues = new WeakMap<Command, number>();
  /** The API keys of the users' agents, which may spend nothing alone. */
  readonly #agents: ReadonlyMap<string, string>;
  /** The keys of the requests that agents make. */
  readonly #byAgents = new Set<string>();

  private constructor(database: Database, agents: ReadonlyMap<string, string>, errors: string[]) {
    this.users = [...agents.keys()];
    this.#agents = agents;
    this.#services = {
      settings: {
        publicUrl: "http://127.0.0.1",
        sessionSecrets: ["a secret of the tests of 32 characters or more"],
        appOrigins: [],
        corsOrigins: [],
        trustLocalhost: false,
        acceptanceWindowSeconds: ACCEPTANCE_HOURS * HOUR_SECONDS,
        deliveryGraceSeconds: GRACE_HOURS * HOUR_SECONDS,
        agreementSeconds: AGREEMENT_HOURS * HOUR_SECONDS,
        mailEventsSecret: null,
        passwordBlocklist: "off",
        processorPollSeconds: 300,
        operatorTimeZone: "UTC",
        operator: { name: null, address: null, taxId: null },
        operatorPaper: "A4" as const,
        spamGuard: false,
        moderatorTotp: false,
        oauthClientsFile: null,
        oauthDynamicClients: false,
        webhookAllowInsecure: false,
        webhookRetrySeconds: [30],
        webhookTimeoutSeconds: 10,
      },
      database,
      publicReads: primaryReads(database),
      clock: this.#clock,
      testClock: null,
      processor: stripeProcessor({ secretKey: "sk_test_none", webhookSecrets: [], apiBase: "http://127.0.0.1:9" }),
      storage,
      judge: openJudge({ log: pino({ level: "silent" }) }),
      inspector: { inspect: async () => nothingKnown, close: async () => undefined },
      egress: guardedEgress({ allowInsecure: false }),
      oauthClients: [],
      callerWatch: new CallerWatch({ database, clock: this.#clock, log: pino({ level: "silent" }) }),
      eventFollower: new EventFollower({ database, log: pino({ level: "silent" }) }),
      eventCursors: openCursors(["a secret of the tests"]),
      isCommonPassword: () => false,
      mail: null,
      limiter: null,
      securityLog: openSecurityLog(pino({ level: "silent" })),
      log: pino({ level: "error" }, { write: (line) => void errors.push(line) }),
    };
  }

  /** All users but the first have completed the payout onboarding. `errors` collects what the service logs as an error. */
  static async open(database: Database, userCount: number, errors: string[]): Promise<Stage> {
    // A transaction, because two sequences may create users in the same microsecond: that one runs again.
    const rows = await database.transaction((tx) =>
      tx.query<{ id: string }>(sql`
        INSERT INTO users (email, password_hash, display_name)
        SELECT gen_random_uuid() || '@example.com', 'none', 'Person' FROM generate_series(1, ${userCount}) RETURNING id`),
    );
    const users = rows.map(({ id }) => id);
    const keys = await database.query<{ userId: string; id: string }>(sql`
      INSERT INTO api_keys (user_id, label, scopes, key_hash, last4, expires_at, approval_above_cents)
      SELECT id, 'agent', ${scopes}::text[], sha256(id::text::bytea), 'none', 'infinity', 0
      FROM unnest(${users}::uuid[]) WITH ORDINALITY AS u (id, place) ORDER BY place
      RETURNING user_id AS "userId", id`);
    const stage = new Stage(database, new Map(keys.map(({ userId, id }) => [userId, id])), errors);
    for (const user of stage.payees) {
      await database.query(sql`
        INSERT INTO payout_accounts (user_id, idempotency_key, email, display_name, account_id, active)
        VALUES (${user}::uuid, ${user}, '', '', ${accountOf(user)}, true)`);
    }
    return stage;
  }

  get payees(): string[] {
    return this.users.slice(1);
  }

  /** Two, who are also ordinary users: so some disputes have a moderator as a party, and few have no impartial one. */
  get moderators(): string[] {
    return this.users.slice(-2);
  }

  /** By its user's session, or by an agent that asks its user, who approves what it asks. */
  async perform(command: Command, asks = false): Promise<Result> {
    const key = this.#keyOf(command);
    if (asks && asked.includes(command.kind)) this.#byAgents.add(key);
    try {
      const createdId = await this.#perform(command, key).catch(async (error: unknown) => {
        await this.#approve(error);
        return this.#perform(command, key);
      });
      return { outcome: "accepted", createdId };
    } catch (error) {
      return { outcome: toApiError(error).code, createdId: "" };
    }
  }

  /** Each request has a key of its own, which its repeats have as well. */
  #keyOf(command: Command): string {
    const key = this.#keys.get(command) ?? randomUUID();
    this.#keys.set(command, key);
    return key;
  }

  async #perform(command: Command, key: string): Promise<string> {
    switch (command.kind) {
      case "topUp":
        return this.#topUp(command.user, command.amount);
      case "repeatTopUp":
        await this.#tellPaid(command.topup, "checkout.session.async_payment_succeeded");
        return "";
      case "refund": {
        const { topup, half, failed } = command;
        await this.#tell("refund.updated", {
          id: `re_${half}_${topup.paymentIntent}`,
          amount: refundOf(topup, half),
          status: failed ? "failed" : "succeeded",
          payment_intent: topup.paymentIntent,
          balance_transaction: "txn_out",
          failure_balance_transaction: failed ? "txn_in" : null,
        });
        return "";
      }
      case "chargeback": {
        const { topup, reinstated } = command;
        const withdrawn = { id: "txn_out", amount: -topup.amount };
        await this.#tell(reinstated ? "charge.dispute.funds_reinstated" : "charge.dispute.funds_withdrawn", {
          id: `dp_${topup.paymentIntent}`,
          payment_intent: topup.paymentIntent,
          balance_transactions: reinstated ? [withdrawn, { id: "txn_in", amount: topup.amount }] : [withdrawn],
        });
        return "";
      }
      case "payOut":
        return this.#payOut(command.user, command.amount, key);
      case "payoutNews": {
        const { payout, news } = command;
        const status = news === "payout.failed" ? "failed" : "paid";
        const snapshot = news.startsWith("payout.")
          ? { id: `po_${payout.id}`, status, metadata: { payoutId: payout.id } }
          : {
              id: `tr_${payout.id}`,
              amount_reversed: news === "transfer.reversed" ? payout.amount : 0,
              transfer_group: payout.id,
            };
        // Payouts happen on the connected account, transfers on the platform's own.
        await this.#tell(news, snapshot, news.startsWith("payout.") ? accountOf(payout.user) : null);
        return "";
      }
      case "post": {
        const input = {
          title: "A task",
          description: "To be done.",
          maxBudgetCents: command.budget,
          tags: [],
          revisions: REVISIONS,
          ...(hasChecks(command.budget) && agreedChecks),
        };
        return (await this.#as(command.user, key).tasks.create(input)).task.id;
      }
      case "editBudget":
        await this.#as(command.user, key).tasks.update({ id: command.task, maxBudgetCents: command.budget });
        return "";
      case "cancel":
        await this.#as(command.user, key).tasks.cancel({ id: command.task });
        return "";
      case "bid": {
        const input = { id: command.task, priceCents: command.price, etaHours: ETA_HOURS };
        return (await this.#as(command.user, key).bids.place(input)).bid.id;
      }
      case "editBid":
        await this.#as(command.user, key).bids.update({ id: command.bid, priceCents: command.price });
        return "";
      case "withdraw":
        await this.#as(command.user, key).bids.withdraw({ id: command.bid });
        return "";
      case "award":
        await this.#as(command.user, key).tasks.award({ id: command.task, bidId: command.bid });
        return "";
      case "deliver": {
        const init = this.#as(command.user, `init-${key}`).bids.deliveryInit;
        const { storageKey } = await init({ id: command.bid, ...UPLOAD });
        await this.#as(command.user, key).bids.deliveryFinalize({ id: command.bid, storageKey });
        return "";
      }
      case "accept":
        await this.#as(command.user, key).tasks.accept({ id: command.task });
        return "";
      case "autoAccept":
        await acceptDelivery(this.#services, { taskId: command.task });
        return "";
      case "judge": {
        const [found] = await this.#services.database.query<{ deliveryId: string | null }>(sql`
          SELECT a.id AS "deliveryId" FROM tasks t
          LEFT JOIN artifacts a ON a.task_id = t.id AND a.kind = 'delivery' AND a.superseded_at IS NULL
          WHERE t.id = ${command.task}::uuid`);
        if (found === undefined) throw new ApiError("not_found");
        const { deliveryId } = found;
        if (deliveryId !== null) await checkDelivery(this.#services, { deliveryId });
        return "";
      }
      case "expire":
        await expireTask(this.#services, { taskId: command.task });
        return "";
      case "dispute": {
        const input = { id: command.task, reason: "This is not what was asked for." };
        return (await this.#as(command.user, key).tasks.dispute(input)).dispute.id;
      }
      case "resolve":
        await this.#as(command.user, key).disputes.resolve({ id: command.dispute, ...command.decision });
        return "";
      case "requestChanges": {
        const input = { id: command.task, reason: "Something is missing here.", hours: CHANGES_HOURS };
        await this.#as(command.user, key).tasks.requestChanges(input);
        return "";
      }
      case "declineChanges":
        await this.#as(command.user, key).tasks.declineChanges({ id: command.task, reason: "Nothing is missing." });
        return "";
      case "endRound":
        await endOverdueRound(this.#services, { taskId: command.task });
        return "";
      case "giveBack":
        await this.#as(command.user, key).bids.giveBack({ id: command.bid, reason: "I cannot do it." });
        return "";
      case "propose":
        return (await this.#as(command.user, key).agreements.propose(this.#proposalOf(command))).agreement.id;
      case "answer":
        await this.#as(command.user, key).agreements[command.answer]({ id: command.agreement });
        return "";
      case "lapseAgreement":
        await lapseAgreement(this.#services, { agreementId: command.agreement });
        return "";
      case "repeat": {
        const repeated = this.#keyOf(command.of);
        if (!command.changed) return this.#perform(command.of, repeated);
        await this.#as(command.of.user, repeated).tasks.cancel({ id: randomUUID() });
        return "";
      }
      case "passHours":
        this.#clock.advance(command.hours * HOUR_SECONDS);
        return "";
    }
  }

  /** The same each time, so that a repeat has the same input. */
  #proposalOf(command: Extract<Command, { kind: "propose" }>) {
    const due = this.#dues.get(command) ?? this.#clock.now().getTime() + command.value * HOUR_SECONDS * 1000;
    this.#dues.set(command, due);
    return {
      ...{ id: command.task, kind: command.agreement, reason: "It is better for both of us." },
      ...(command.agreement === "settle" && { bidderCents: command.value }),
      ...(command.agreement === "extend" && { deliveryDueAt: new Date(due).toISOString() }),
    };
  }

  #as(userId: string, idempotencyKey: string) {
    const moderator = this.moderators.includes(userId);
    const session = { kind: "session", userId, sessionId: randomUUID(), moderator, secondFactor: false } as const;
    const keyId = this.#byAgents.has(idempotencyKey) ? this.#agents.get(userId) : undefined;
    const limits = { hasSpendLimit: false, approvalAboveCents: 0, isGrant: false };
    const principal =
      keyId === undefined ? session : ({ kind: "apiKey", userId, keyId, scopes: [...scopes], ...limits } as const);
    return appRouter.createCaller(buildContext(this.#services, principal, { idempotencyKey }));
  }

  /** Approves what an agent was refused for; throws the refusal if it asks nobody. */
  async #approve(refusal: unknown): Promise<void> {
    const { approval } = toApiError(refusal).details;
    if (!approval || !("url" in approval) || approval.id === undefined) throw refusal;
    const { id } = approval;
    const [row] = await this.#services.database.query<{ userId: string }>(sql`
      SELECT user_id AS "userId" FROM approvals WHERE id = ${id}::uuid`);
    if (row === undefined) throw new Error(`there is no approval ${id}`);
    const { approvals } = this.#as(row.userId, randomUUID());
    const { version: seen } = (await approvals.read({ id })).approval;
    const { status } = (await approvals.approve({ id, seen })).approval;
    if (status !== "approved") throw new Error(`approval ${id} is ${status}`);
  }

  async #topUp(user: string, amount: number): Promise<string> {
    const paymentIntent = `pi_${randomUUID()}`;
    await this.#services.database.query(sql`
      INSERT INTO topups (user_id, amount_cents, currency, session_id, success_url, cancel_url)
      VALUES (${user}::uuid, ${amount}, 'usd', ${sessionOf(paymentIntent)}, '', '')`);
    await this.#tellPaid({ paymentIntent, user, amount }, "checkout.session.completed");
    return paymentIntent;
  }

  #tellPaid({ paymentIntent, amount }: ModelTopup, type: string): Promise<void> {
    return this.#tell(type, {
      id: sessionOf(paymentIntent),
      payment_status: "paid",
      payment_intent: paymentIntent,
      amount_total: amount,
      currency: "usd",
    });
  }

  async #payOut(user: string, amountCents: number, key: string): Promise<string> {
    const { pendingLedgerId } = await this.#as(user, key).payouts.create({ amountCents });
    const [payout] = await this.#services.database.query<{ id: string }>(sql`
      SELECT id FROM payouts WHERE ledger_entry_id = ${pendingLedgerId}::uuid`);
    return payout?.id ?? "";
  }

  /** Puts an event of the processor into the inbox, as the HTTP endpoint would, and applies it immediately. */
  async #tell(type: string, data: Record<string, unknown>, account: string | null = null): Promise<void> {
    const eventId = `evt_${randomUUID()}`;
    const event = { id: eventId, type, account, data, relatedObjectId: null };
    await this.#services.database.query(sql`
      INSERT INTO processor_events (id, type, payload) VALUES (${eventId}, ${type}, ${JSON.stringify(event)}::jsonb)`);
    await applyProcessorEvent(this.#services, { eventId });
  }

  async observe(): Promise<Observed> {
    const [row] = await this.#services.database.query<{ digest: string }>(sql`
      SELECT json_build_object(
        'wallets', (SELECT json_agg(w ORDER BY user_id) FROM wallets w WHERE user_id = ANY (${this.users}::uuid[])),
        'tasks', (SELECT json_agg(t ORDER BY id) FROM tasks t WHERE buyer_id = ANY (${this.users}::uuid[])),
        'bids', (SELECT json_agg(b ORDER BY id) FROM bids b WHERE bidder_id = ANY (${this.users}::uuid[])),
        'payouts', (SELECT json_agg(p ORDER BY id) FROM payouts p WHERE user_id = ANY (${this.users}::uuid[])),
        'disputes', (SELECT json_agg(d ORDER BY d.id) FROM disputes d JOIN tasks t ON t.id = d.task_id
                     WHERE t.buyer_id = ANY (${this.users}::uuid[])),
        'rounds', (SELECT json_agg(r ORDER BY r.id) FROM change_rounds r JOIN tasks t ON t.id = r.task_id
                   WHERE t.buyer_id = ANY (${this.users}::uuid[])),
        'agreements', (SELECT json_agg(a ORDER BY a.id) FROM agreements a JOIN tasks t ON t.id = a.task_id
                       WHERE t.buyer_id = ANY (${this.users}::uuid[])),
        'platform', (SELECT coalesce(sum(e.amount_cents), 0) FROM ledger_entries e JOIN ledger_transfers x ON x.id = e.transfer_id
                     JOIN tasks t ON t.id = x.task_id WHERE t.buyer_id = ANY (${this.users}::uuid[]) AND e.bucket = 'platform'),
        'events', (SELECT count(*) FROM events e JOIN tasks t ON t.id = e.task_id
                   WHERE t.buyer_id = ANY (${this.users}::uuid[])))::text AS digest`);
    const digest = row?.digest ?? "{}";
    const { wallets, tasks, bids, payouts, disputes, agreements, platform } = JSON.parse(digest);
    return {
      wallets: new Map(wallets?.map((w: Record<string, number>) => [w.user_id, walletOf(w)])),
      tasks: new Map(tasks?.map((t: Record<string, number>) => [t.id, taskOf(t)])),
      bids: new Map(bids?.map((b: Record<string, number>) => [b.id, bidOf(b)])),
      payouts: new Map(payouts?.map((p: Record<string, unknown>) => [p.id, { failed: p.state === "failed" }])),
      disputes: new Map(disputes?.map((d: Record<string, unknown>) => [d.id, disputeOf(d)])),
      agreements: new Map(agreements?.map((a: Record<string, unknown>) => [a.id, { status: a.status }])),
      platform,
      digest,
    };
  }

  /** Violations of the invariants that must always hold, found in the entries alone, without the model. */
  async breaches(): Promise<unknown[]> {
    return this.#services.database.query(sql`
      WITH mine AS (SELECT * FROM ledger_entries WHERE user_id = ANY (${this.users}::uuid[])),
      folded AS (
        SELECT user_id, coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available,
               coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held,
               coalesce(-sum(amount_cents) FILTER (WHERE bucket = 'debt'), 0) AS debt, count(*) AS version
        FROM mine GROUP BY user_id)
      SELECT 'fold' AS breach, user_id::text AS id FROM wallets LEFT JOIN folded USING (user_id)
      WHERE user_id = ANY (${this.users}::uuid[])
        AND (available_cents, held_cents, debt_cents, wallets.version)
            <> (coalesce(available, 0), coalesce(held, 0), coalesce(debt, 0), coalesce(folded.version, 0))
      UNION ALL
      SELECT 'balance after', id::text FROM (
        SELECT id, amount_cents, balance_after_cents,
               coalesce(lag(balance_after_cents) OVER (PARTITION BY user_id, bucket ORDER BY version), 0) AS before_cents
        FROM mine) chain
      WHERE before_cents + amount_cents <> balance_after_cents
      UNION ALL
      SELECT 'sum', transfer_id::text FROM ledger_entries WHERE transfer_id IN (SELECT transfer_id FROM mine)
      GROUP BY transfer_id HAVING sum(amount_cents) <> 0`);
  }
}

const accountOf = (user: string) => `acct_${user}`;
const sessionOf = (paymentIntent: string) => `cs_${paymentIntent}`;

function walletOf(row: Record<string, number>): ModelWallet {
  return { available: row.available_cents ?? 0, held: row.held_cents ?? 0, debt: row.debt_cents ?? 0 };
}

function taskOf(row: Record<string, unknown>) {
  return {
    status: row.status,
    budget: row.max_budget_cents,
    awardedBid: row.awarded_bid_id,
    rounds: row.revisions_used,
    acceptedBy: row.accepted_by,
  };
}

const bidOf = (row: Record<string, unknown>) => ({ status: row.status, price: row.price_cents, fee: row.fee_cents });

function disputeOf(row: Record<string, unknown>) {
  const shares = row.status === "open" ? null : { buyer: row.buyer_cents, bidder: row.bidder_cents };
  return { openedBy: row.opened_by, shares };
}

/** The differences between the model and the database; empty if they agree. */
export function differencesOf(model: Model, observed: Observed): string[] {
  const differences: string[] = [];
  const compare = (what: string, expected: unknown, actual: unknown) => {
    const [one, other] = [JSON.stringify(expected), JSON.stringify(actual)];
    if (one !== other) differences.push(`${what}: the model says ${one}, the database ${other}`);
  };
  const none: ModelWallet = { available: 0, held: 0, debt: 0 };
  for (const user of new Set([...model.wallets.keys(), ...observed.wallets.keys()])) {
    compare(`wallet ${user}`, model.wallets.get(user) ?? none, observed.wallets.get(user) ?? none);
  }
  for (const id of new Set([...model.tasks.keys(), ...observed.tasks.keys()])) {
    const task = model.tasks.get(id);
    const expected = task && {
      status: task.status,
      budget: task.budget,
      awardedBid: task.awardedBid,
      rounds: task.rounds,
      acceptedBy: task.acceptedBy,
    };
    compare(`task ${id}`, expected, observed.tasks.get(id));
  }
  for (const id of new Set([...model.bids.keys(), ...observed.bids.keys()])) {
    const bid = model.bids.get(id);
    compare(`bid ${id}`, bid && { status: bid.status, price: bid.price, fee: bid.fee }, observed.bids.get(id));
  }
  for (const id of new Set([...model.payouts.keys(), ...observed.payouts.keys()])) {
    const payout = model.payouts.get(id);
    compare(`payout ${id}`, payout && { failed: payout.failed }, observed.payouts.get(id));
  }
  for (const id of new Set([...model.disputes.keys(), ...observed.disputes.keys()])) {
    const dispute = model.disputes.get(id);
    const expected = dispute && { openedBy: dispute.openedBy, shares: dispute.shares };
    compare(`dispute ${id}`, expected, observed.disputes.get(id));
  }
  for (const id of new Set([...model.agreements.keys(), ...observed.agreements.keys()])) {
    const agreement = model.agreements.get(id);
    compare(`agreement ${id}`, agreement && { status: agreement.status }, observed.agreements.get(id));
  }
  compare("what the platform has earned", model.platform, observed.platform);
  return differences;
}
