import pg from "pg";
import { requestPool } from "../../server/store/poolSettings.ts";

/** The other ways to join read a small table whole. */
const PREFER_INDEXES = ["seqscan", "hashjoin", "mergejoin"].map((way) => `SET LOCAL enable_${way} = off`).join("; ");

/** What Postgres did for one statement of the service, with the values that it really had. */
export interface QueryPlan {
  text: string;
  /** Rows that were taken from tables and indexes, whether or not a filter dropped them. */
  rowsRead: number;
  /** The same with what its functions and triggers read, by table, from the statistics of its connection. */
  rowsReadInside: Record<string, number>;
  /** Rows that were returned or written; at least 1. */
  rowsReturned: number;
  plan: PlanNode;
}

export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Output?: string[];
  Plans?: PlanNode[];
}

/**
 * Runs `work` while the request pool's connections explain each statement before they run it: EXPLAIN ANALYZE executes it,
 * with the same values at the same place in the same transaction, and is rolled back. For services of this process. Triggers
 * that wait for the commit are fired before it, and count as a statement of their own.
 *
 * With `prefersIndexes`, the planner looks rows up in an index where there is one, also in a table that it would rather read
 * whole because it is small.
 */
export async function recordPlans(
  work: () => Promise<void>,
  { prefersIndexes = false }: { prefersIndexes?: boolean } = {},
): Promise<QueryPlan[]> {
  const plans: QueryPlan[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: `query` has a dozen overloads.
  type Query = (this: pg.Client, ...parameters: any[]) => any;
  const query = pg.Client.prototype.query as Query;
  /** The statement before, which is the end of the line on a connection. */
  const tails = new WeakMap<pg.Client, Promise<unknown>>();
  const inTransaction = new WeakSet<pg.Client>();
  /** The rows that the statements of the transaction have returned or written. */
  const writtenIn = new WeakMap<pg.Client, number>();

  /** What the connection has read of each table. It grows during a transaction, and begins again after some. */
  async function rowsReadSoFar(client: pg.Client): Promise<Map<string, number>> {
    const { rows } = await query.call(
      client,
      `SELECT relname AS table, seq_tup_read + coalesce(idx_tup_fetch, 0) AS rows FROM pg_stat_xact_user_tables
       WHERE seq_tup_read + coalesce(idx_tup_fetch, 0) > 0`,
    );
    return new Map(rows.map((row: { table: string; rows: string }) => [row.table, Number(row.rows)]));
  }

  async function fireDeferredTriggers(client: pg.Client): Promise<void> {
    const before = await rowsReadSoFar(client);
    await query.call(client, "SET CONSTRAINTS ALL IMMEDIATE");
    const rowsReadInside = difference(before, await rowsReadSoFar(client));
    const rowsReturned = writtenIn.get(client) ?? 1;
    const plan = { "Node Type": "Deferred Triggers", "Actual Rows": 0, "Actual Loops": 1 };
    plans.push({ text: "SET CONSTRAINTS ALL IMMEDIATE", plan, rowsRead: 0, rowsReadInside, rowsReturned });
    writtenIn.delete(client);
  }

  async function explain(client: pg.Client, text: string, values: unknown[]): Promise<void> {
    const isInside = inTransaction.has(client);
    await query.call(client, isInside ? "SAVEPOINT plan" : "BEGIN");
    try {
      if (prefersIndexes) await query.call(client, PREFER_INDEXES);
      const before = await rowsReadSoFar(client);
      const { rows } = await query.call(client, `EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, TIMING off) ${text}`, values);
      const { Plan: plan } = rows[0]["QUERY PLAN"][0];
      const rowsReadInside = difference(before, await rowsReadSoFar(client));
      const returned = rowsReturned(plan);
      if (isInside) writtenIn.set(client, (writtenIn.get(client) ?? 1) + returned);
      plans.push({ text, plan, rowsRead: rowsRead(plan), rowsReadInside, rowsReturned: returned });
    } catch {
      // The statement fails in any case, and its own error is the one to report.
    }
    await query.call(client, isInside ? "ROLLBACK TO plan" : "ROLLBACK");
  }

  const explaining: Query = function (this: pg.Client, ...parameters) {
    const [first, second] = parameters;
    const { text, values = Array.isArray(second) ? second : [] } = typeof first === "string" ? { text: first } : first;
    const { application_name } = (this as unknown as { connectionParameters: { application_name: string } })
      .connectionParameters;
    if (application_name !== requestPool.name) return query.apply(this, parameters);
    const run = async () => {
      if (/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text)) await explain(this, text, values);
      if (/^\s*BEGIN\b/i.test(text)) inTransaction.add(this);
      if (/^\s*COMMIT\s*$/i.test(text)) await fireDeferredTriggers(this);
      if (/^\s*(COMMIT|ROLLBACK)\s*$/i.test(text)) inTransaction.delete(this);
    };
    const explained = (tails.get(this) ?? Promise.resolve()).then(run);
    const callbackAt = parameters.findIndex((parameter) => typeof parameter === "function");
    if (callbackAt >= 0) {
      // With a callback, as the pool calls it, the answer is not a promise.
      const answered = explained.then(
        () =>
          new Promise<void>((resolve) => {
            const callback = parameters[callbackAt];
            const andResolve = (...results: unknown[]) => {
              resolve();
              callback(...results);
            };
            query.apply(this, parameters.with(callbackAt, andResolve));
          }),
      );
      tails.set(this, answered);
      return undefined;
    }
    const answered = explained.then(() => query.apply(this, parameters));
    tails.set(
      this,
      answered.catch(() => undefined),
    );
    return answered;
  };

  pg.Client.prototype.query = explaining as typeof pg.Client.prototype.query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query as typeof pg.Client.prototype.query;
  }
  return plans;
}

function difference(before: Map<string, number>, after: Map<string, number>): Record<string, number> {
  const grown = [...after].map(([table, rows]) => [table, rows - (before.get(table) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, rows]) => rows > 0));
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Of a Bitmap Index Scan, the rows count where they are fetched. */
function rowsRead(plan: PlanNode): number {
  return nodesOf(plan)
    .filter((node) => node["Relation Name"] !== undefined && node["Node Type"].endsWith("Scan"))
    .reduce((sum, node) => {
      const dropped = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
      return sum + (node["Actual Rows"] + dropped) * node["Actual Loops"];
    }, 0);
}

/** Rows count that are returned as an array of JSON, too. A change without RETURNING returns none; then what it wrote counts. */
function rowsReturned(plan: PlanNode): number {
  const rowsBelow = (nodes: PlanNode[]) =>
    nodes
      .flatMap((node) => node.Plans?.slice(0, 1) ?? [])
      .reduce((sum, node) => sum + node["Actual Rows"] * node["Actual Loops"], 0);
  const nodes = nodesOf(plan);
  const written = rowsBelow(nodes.filter((node) => node["Node Type"] === "ModifyTable"));
  const inArrays = rowsBelow(nodes.filter((node) => node.Output?.some((column) => column.startsWith("json_agg("))));
  return Math.max(1, plan["Actual Rows"] + inArrays, written);
}
