import type pg from "pg";
import type { PrismaClient } from "../../prisma/generated/client.ts";
import { type Connection, connectionOver, openPool, openPrisma } from "./connection.ts";
import { isRetryable, isServerSilent } from "./databaseErrors.ts";
import { ledgerOver } from "./ledger.ts";
import { recordEvent, recordSampleEvent } from "./outbox.ts";
import type { PoolSettings } from "./poolSettings.ts";
import { addJob } from "./queue.ts";

/** State (`query`), money (`ledger`), events and jobs, committed together or not at all. */
export interface Transaction extends Connection {
  readonly ledger: ReturnType<typeof ledgerOver>;
  readonly events: {
    record: (...event: Tail<Parameters<typeof recordEvent>>) => Promise<void>;
    recordSample: (...event: Tail<Parameters<typeof recordSampleEvent>>) => Promise<string>;
  };
  /** Calls `work`, which must not throw, once the transaction is committed. For what a rollback could not undo. */
  onCommit(work: () => void): void;
  readonly jobs: { add: (...job: Tail<Parameters<typeof addJob>>) => Promise<void> };
}
type Tail<Parameters extends unknown[]> = Parameters extends [unknown, ...infer Rest] ? Rest : never;

export interface Database extends Connection {
  /** For ordinary single statements. Use `transaction` for what must be atomic and `query` for what must be fast. */
  readonly prisma: PrismaClient;
  readonly pool: pg.Pool;
  /**
   * Runs `work` in a READ COMMITTED transaction and commits it. After a serialization failure, a deadlock or a tie between
   * timestamps, `work` runs again, so it must have no effect outside the transaction; above all, no remote call.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * Like `transaction`, but undoes everything at the end, after checking what a commit would check. Sequences keep the
   * numbers that they gave out.
   */
  rehearse<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** Runs `read` on one snapshot, so that what it reads belongs together, whatever is committed meanwhile. */
  snapshot<Result>(read: (snapshot: Connection) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Runs of one transaction before its error is thrown. The pauses between them add up to at most 1.3 s. */
const MAX_ATTEMPTS = 8;

function transactionOver(client: pg.PoolClient, afterCommit: (() => void)[]): Transaction {
  const connection = connectionOver(client);
  return {
    ...connection,
    ledger: ledgerOver(connection),
    events: {
      record: (...event) => recordEvent(connection, ...event),
      recordSample: (...event) => recordSampleEvent(connection, ...event),
    },
    onCommit: (work) => void afterCommit.push(work),
    jobs: { add: (...job) => addJob(connection, ...job) },
  };
}

async function commit(client: pg.PoolClient): Promise<boolean> {
  const { command } = await client.query("COMMIT");
  // If a statement failed and `work` caught its error, Postgres answers COMMIT with ROLLBACK instead of an error.
  if (command !== "COMMIT") {
    throw new Error("a statement failed inside the transaction and its error was caught: nothing was committed");
  }
  return true;
}

async function undo(client: pg.PoolClient): Promise<boolean> {
  // Runs the deferred constraint triggers, which a rollback alone would skip.
  await client.query("SET CONSTRAINTS ALL IMMEDIATE");
  await client.query("ROLLBACK");
  return false;
}

interface Mode {
  begin: string;
  /** Throws if the database refuses what was done. Returns whether it lasts. */
  end(client: pg.PoolClient): Promise<boolean>;
}
const change: Mode = { begin: "BEGIN", end: commit };
const rehearsal: Mode = { begin: "BEGIN", end: undo };
const reading: Mode = { begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", end: commit };

type Work<Result> = (tx: Transaction) => Promise<Result>;

async function runOnce<Result>(pool: pg.Pool, work: Work<Result>, { begin, end }: Mode): Promise<Result> {
  const client = await pool.connect();
  const afterCommit: (() => void)[] = [];
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(transactionOver(client, afterCommit));
    if (await end(client)) for (const follow of afterCommit) follow();
    return result;
  } catch (error) {
    // A connection that cannot roll back is closed, which releases its locks. A silent one would not answer this either.
    if (isServerSilent(error)) broken = error;
    else {
      await client.query("ROLLBACK").catch((reason: Error) => {
        broken = reason;
      });
    }
    throw error;
  } finally {
    client.release(broken);
  }
}

async function run<Result>(pool: pg.Pool, work: Work<Result>, mode: Mode): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(pool, work, mode);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isRetryable(error)) throw error;
      // Full jitter, so that two transactions that collided do not collide again in step.
      const pauseMs = Math.random() * 5 * 2 ** attempt;
      await new Promise((resume) => setTimeout(resume, pauseMs));
    }
  }
}

/** Opens a pool of connections; each is made when it is first needed. */
export function openDatabase(databaseUrl: string, settings: PoolSettings): Database {
  const pool = openPool(databaseUrl, settings);
  const prisma = openPrisma(pool);
  return {
    ...connectionOver(pool),
    prisma,
    pool,
    transaction: (work) => run(pool, work, change),
    rehearse: (work) => run(pool, work, rehearsal),
    snapshot: (read) => run(pool, read, reading),
    async close() {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}
