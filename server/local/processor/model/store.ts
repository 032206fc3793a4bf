import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type Stripe from "stripe";
import type { StoredSettings } from "../resources/balanceSettings.ts";
import { missing } from "./refusal.ts";

/** What the processor keeps, each kind with the SDK's own type of it. */
export interface Objects {
  "checkout.session": Stripe.Checkout.Session;
  payment_intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  dispute: Stripe.Dispute;
  transfer: Stripe.Transfer;
  transfer_reversal: Stripe.TransferReversal;
  payout: Stripe.Payout;
  balance_transaction: Stripe.BalanceTransaction;
  balance_settings: StoredSettings;
  "v2.core.account": Stripe.V2.Core.Account;
  "v2.core.account_link": OnboardingLink;
  event: SnapshotEvent;
  "v2.core.event": ThinEvent;
}
export type Kind = keyof Objects;

/** An onboarding link works once: `usedAt` (epoch seconds) says when it did. Its id is the token in its address. */
export interface OnboardingLink {
  id: string;
  object: "v2.core.account_link";
  account: string;
  returnUrl: string;
  refreshUrl: string;
  expiresAt: number;
  usedAt: number | null;
}

export interface SnapshotEvent {
  id: string;
  object: "event";
  account?: string;
  api_version: string;
  created: number;
  data: { object: unknown };
  livemode: false;
  pending_webhooks: number;
  request: { id: null; idempotency_key: null };
  type: string;
}

export interface ThinEvent {
  id: string;
  object: "v2.core.event";
  created: string;
  livemode: false;
  type: string;
  related_object: { id: string; type: string; url: string } | null;
  data?: unknown;
}

/** The owner of everything that does not belong to a connected account. */
export const platform = "platform";

/** Ids look like Stripe's, for example `cs_test_9f…`; they are random, so they sort in no order. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString("hex")}`;
}

export interface Filter {
  /** Column or JSON path of the stored object, such as `$.transfer_group`. */
  path: string;
  /** `glob` takes `*` for any text, `in` takes a JSON list. */
  operator: "=" | ">" | ">=" | "<" | "<=" | "glob" | "in";
  value: string | number;
}

/**
 * All state, in one SQLite file, so that a restart or a crash loses nothing. Objects are stored whole, as the JSON that
 * the API answers; whoever changes one inside `transaction` changes all of what belongs together, or nothing.
 */
export class Store {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.database = new DatabaseSync(join(directory, "processor.sqlite"));
    this.database.exec(schema);
  }

  close(): void {
    this.database.close();
  }

  /** SQLite calls are synchronous: nothing else runs between the begin and the commit. */
  transaction<Result>(work: () => Result): Result {
    this.database.exec("begin immediate");
    try {
      const result = work();
      this.database.exec("commit");
      return result;
    } catch (error) {
      this.database.exec("rollback");
      throw error;
    }
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#statement(sql).all(...values);
  }

  insert<K extends Kind>(owner: string, object: Objects[K] & { object: K }): void {
    const sql = "insert into objects (id, kind, owner, body) values (?, ?, ?, ?)";
    this.run(sql, object.id, object.object, owner, JSON.stringify(object));
  }

  update<K extends Kind>(object: Objects[K] & { object: K }): void {
    this.run("update objects set body = ? where id = ? and kind = ?", JSON.stringify(object), object.id, object.object);
  }

  find<K extends Kind>(kind: K, id: string, owner: string = platform): Objects[K] | undefined {
    const sql = "select body from objects where id = ? and kind = ? and owner = ?";
    const [row] = this.rows(sql, id, kind, owner);
    return row === undefined ? undefined : parse<K>(row.body);
  }

  /** Refuses with Stripe's 404 when there is none. */
  get<K extends Kind>(kind: K, id: string, owner: string = platform): Objects[K] {
    const object = this.find(kind, id, owner);
    if (object === undefined) throw missing(kind, id);
    return object;
  }

  /** Any object by its id alone, for `expand`. */
  findAny(id: string): unknown {
    const [row] = this.rows("select body from objects where id = ?", id);
    return row === undefined ? undefined : JSON.parse(String(row.body));
  }

  ownerOf(id: string): string | undefined {
    const [row] = this.rows("select owner from objects where id = ?", id);
    return row === undefined ? undefined : String(row.owner);
  }

  /** The newest objects of a kind, whoever owns them. */
  newest<K extends Kind>(kind: K, limit: number): { object: Objects[K]; owner: string }[] {
    const sql = "select body, owner from objects where kind = ? order by sequence desc limit ?";
    return this.rows(sql, kind, limit).map((row) => ({ object: parse<K>(row.body), owner: String(row.owner) }));
  }

  /**
   * The newest first. `after` and `before` are ids that the page starts behind or ends in front of, as in Stripe's
   * `starting_after` and `ending_before`. One object more than `limit` is read, to know whether there are others.
   */
  list<K extends Kind>(
    kind: K,
    owner: string,
    page: { filters?: Filter[]; limit?: number; after?: string | undefined; before?: string | undefined } = {},
  ): { data: Objects[K][]; hasMore: boolean } {
    const limit = page.limit ?? 1_000_000;
    const where = ["kind = ?", "owner = ?"];
    const values: SQLInputValue[] = [kind, owner];
    for (const filter of page.filters ?? []) {
      const operand = filter.operator === "in" ? "(select value from json_each(?))" : "?";
      where.push(`json_extract(body, '${filter.path}') ${filter.operator} ${operand}`);
      values.push(filter.value);
    }
    if (page.after !== undefined) {
      where.push("sequence < (select sequence from objects where id = ?)");
      values.push(page.after);
    }
    if (page.before !== undefined) {
      where.push("sequence > (select sequence from objects where id = ?)");
      values.push(page.before);
    }
    const order = page.before === undefined ? "desc" : "asc";
    const sql = `select body from objects where ${where.join(" and ")} order by sequence ${order} limit ?`;
    const rows = this.rows(sql, ...values, limit + 1);
    const data = rows.slice(0, limit).map((row) => parse<K>(row.body));
    if (page.before !== undefined) data.reverse();
    return { data, hasMore: rows.length > limit };
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function parse<K extends Kind>(body: unknown): Objects[K] {
  return JSON.parse(String(body));
}

// synchronous = normal survives the death of the process at any moment, which is what a local stand-in has to.
const schema = `
  pragma journal_mode = wal;
  pragma synchronous = normal;
  pragma busy_timeout = 5000;

  create table if not exists objects (
    sequence integer primary key autoincrement,
    id text not null unique,
    kind text not null,
    owner text not null,
    body text not null check (json_valid(body))
  ) strict;
  create index if not exists objects_by_kind on objects (kind, owner, sequence);
  create index if not exists objects_by_age on objects (kind, sequence);
  create index if not exists objects_by_group on objects (kind, owner, json_extract(body, '$.transfer_group'));
  create index if not exists objects_by_payment on objects (kind, owner, json_extract(body, '$.payment_intent'));

  create table if not exists balances (
    owner text not null,
    currency text not null,
    cents integer not null,
    primary key (owner, currency)
  ) strict;

  create table if not exists idempotency_keys (
    owner text not null,
    key text not null,
    request_hash text not null,
    status integer not null,
    body text not null,
    created_ms integer not null,
    primary key (owner, key)
  ) strict;

  create table if not exists deliveries (
    id integer primary key autoincrement,
    event_id text not null,
    attempts integer not null default 0,
    next_attempt_ms integer not null,
    delivered_ms integer
  ) strict;
  create index if not exists deliveries_by_event on deliveries (event_id);
  create index if not exists deliveries_pending on deliveries (next_attempt_ms) where delivered_ms is null;

  create table if not exists schedule (
    id integer primary key autoincrement,
    due_ms integer not null,
    action text not null,
    object_id text not null
  ) strict;
  create index if not exists schedule_by_time on schedule (due_ms);

  create table if not exists faults (
    name text primary key,
    call text,
    next integer not null default 0,
    share real not null default 0,
    hits integer not null default 0
  ) strict;
`;
