import pg from "pg";
import { requestPool } from "../../server/store/poolSettings.ts";

/** What Postgres did for one statement of the service, with the values that it really had. */
export interface QueryPlan {
  text: string;
  /** Rows that were taken from tables and indexes, whether or not a filter dropped them. */
  rowsRead: number;
  /** Rows that were returned or written; at least 1. */
  rowsReturned: number;
  plan: PlanNode;
}

export interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PlanNode[];
}

/**
 * Runs `work` while the request pool's connections explain each statement before they run it: EXPLAIN ANALYZE executes it,
 * with the same values at the same place in the same transaction, and is rolled back. For services of this process. What
 * triggers and functions do is not in the plans.
 */
export async function recordPlans(work: () => Promise<void>): Promise<QueryPlan[]> {
  const plans: QueryPlan[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: `query` has a dozen overloads.
  type Query = (this: pg.Client, ...parameters: any[]) => any;
  const query = pg.Client.prototype.query as Query;
  /** The statement before, which is the end of the line on a connection. */
  const tails = new WeakMap<pg.Client, Promise<unknown>>();
  const inTransaction = new WeakSet<pg.Client>();

  async function explain(client: pg.Client, text: string, values: unknown[]): Promise<void> {
    const isInside = inTransaction.has(client);
    await query.call(client, isInside ? "SAVEPOINT plan" : "BEGIN");
    try {
      const { rows } = await query.call(client, `EXPLAIN (ANALYZE, FORMAT JSON, TIMING off) ${text}`, values);
      const { Plan: plan } = rows[0]["QUERY PLAN"][0];
      plans.push({ text, plan, rowsRead: rowsRead(plan), rowsReturned: rowsReturned(plan) });
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

/** A change without RETURNING returns no rows; then what it wrote counts. */
function rowsReturned(plan: PlanNode): number {
  const written = nodesOf(plan)
    .filter((node) => node["Node Type"] === "ModifyTable")
    .flatMap((node) => node.Plans?.slice(0, 1) ?? [])
    .reduce((sum, node) => sum + node["Actual Rows"] * node["Actual Loops"], 0);
  return Math.max(1, plan["Actual Rows"], written);
}
