import type pg from "pg";
import type { PrismaClient } from "../../prisma/generated/client.ts";
import { tracedWithin } from "../tracing.ts";
import { closeWhenSilent } from "./closeWhenSilent.ts";
import { type Connection, connectionOver, openPool, openPrisma } from "./connection.ts";
import { isRetryable } from "./databaseErrors.ts";
import {
  type Movement,
  type MovementsAnsweredNow,
  type MovementsWithCommit,
  movementsAnsweredNow,
  movementsWithCommit,
  writeMovement,
} from "./ledger.ts";
import { type EventActor, type NewEvent, newEvent, recordEvents, recordSampleEvent } from "./outbox.ts";
import { pipelinedReads } from "./pipelinedReads.ts";
import type { PoolSettings } from "./poolSettings.ts";
import { addJob } from "./queue.ts";

/** State (`query`), money (`ledger`), events and jobs, committed together or not at all. */
export interface Transaction extends Connection {
  readonly ledger: MovementsWithCommit & MovementsAnsweredNow;
  readonly events: {
    /** Records an event, after those before it. It is written at the end, together with the commit. */
    record: (...event: Parameters<typeof newEvent>) => void;
    recordSample: (...event: Tail<Parameters<typeof recordSampleEvent>>) => Promise<string>;
  };
  /** Lets the work go on, checks what a commit would check, then undoes everything and throws this. */
  refuseAtEnd(refusal: Error): void;
  /** Calls `work`, which must not throw, once the transaction is committed. For what a rollback could not undo. */
  onCommit(work: () => void): void;
  readonly jobs: {
    /** Adds a job. It is written at the end, together with the commit. */
    add: (...job: Tail<Parameters<typeof addJob>>) => void;
  };
}
type Tail<Parameters extends unknown[]> = Parameters extends [unknown, ...infer Rest] ? Rest : never;

/** What runs in a transaction. */
export type Work<Result> = (tx: Transaction) => Promise<Result>;

export interface Database extends Connection {
  /** For ordinary single statements. Use `transaction` for what must be atomic and `query` for what must be fast. */
  readonly prisma: PrismaClient;
  readonly pool: pg.Pool;
  /**
   * Runs `work` in a READ COMMITTED transaction and commits it. After a serialization failure, a deadlock or a tie between
   * timestamps, `work` runs again, so it must have no effect outside the transaction; above all, no remote call.
   * @param actor who does it, for the events; null for the clock, a job or an operator
   */
  transaction<Result>(work: Work<Result>, actor?: EventActor | null): Promise<Result>;
  /**
   * Like `transaction`, but undoes everything at the end, after checking what a commit would check. Sequences keep the
   * numbers that they gave out.
   */
  rehearse<Result>(work: Work<Result>): Promise<Result>;
  /** Runs `read` on one snapshot, so that what it reads belongs together, whatever is committed meanwhile. */
  snapshot<Result>(read: (snapshot: Connection) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Runs of one transaction before its error is thrown. The pauses between them add up to at most 1.3 s. */
const MAX_ATTEMPTS = 8;

/** A transaction under way, and what is left to do at its end. */
interface Unit {
  readonly actor: EventActor | null;
  readonly client: pg.PoolClient;
  /** What is written at the end goes through it. */
  readonly written: Connection;
  readonly connection: Connection;
  readonly movements: Movement[];
  readonly events: NewEvent[];
  readonly jobs: Tail<Parameters<typeof addJob>>[];
  readonly afterCommit: (() => void)[];
  refusal: Error | null;
}

function transactionOver(unit: Unit): Transaction {
  const { connection, movements, events, jobs, afterCommit } = unit;
  return {
    ...connection,
    ledger: {
      ...movementsAnsweredNow(connection),
      ...movementsWithCommit((movement) => movements.push(movement)),
    },
    events: {
      record: (...event) => void events.push(newEvent(...event)),
      recordSample: (...event) => recordSampleEvent(connection, ...event),
    },
    refuseAtEnd(refusal) {
      unit.refusal = refusal;
    },
    onCommit: (work) => void afterCommit.push(work),
    jobs: { add: (...job) => void jobs.push(job) },
  };
}

/**
 * Sends what is left to write, and behind it `last`, without waiting in between: after a failure, Postgres refuses the rest
 * and answers COMMIT with ROLLBACK. As with `inOrder`, each of these functions hands its statement to the driver before it
 * first waits: what came after `last` would be outside of the transaction.
 */
async function flush(unit: Unit, last: string): Promise<pg.QueryResult> {
  const { actor, client, written: connection, movements, events, jobs } = unit;
  const written = [
    ...movements.map((movement) => writeMovement(connection, movement)),
    ...jobs.map((job) => addJob(connection, ...job)),
    ...(events.length > 0 ? [recordEvents(connection, events, actor)] : []),
  ];
  const end = client.query(last);
  // The first failure is the one that says what is wrong: Postgres refuses what comes after it.
  const outcomes = await Promise.allSettled([...written, end]);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;
  return end;
}

async function commit(unit: Unit): Promise<boolean> {
  const { command } = await flush(unit, "COMMIT");
  // If a statement failed and `work` caught its error, Postgres answers COMMIT with ROLLBACK instead of an error.
  if (command !== "COMMIT") {
    throw new Error("a statement failed inside the transaction and its error was caught: nothing was committed");
  }
  return true;
}

async function undo(unit: Unit): Promise<boolean> {
  // Runs the deferred constraint triggers, which a rollback alone would skip.
  await flush(unit, "SET CONSTRAINTS ALL IMMEDIATE");
  await unit.client.query("ROLLBACK");
  return false;
}

interface Mode {
  begin: string;
  /** Nothing is changed, so that no statement has to wait for the beginning. */
  isReading?: boolean;
  /** Throws if the database refuses what was done. Returns whether it lasts. */
  end(unit: Unit): Promise<boolean>;
}
const change: Mode = { begin: "BEGIN", end: commit };
const rehearsal: Mode = { begin: "BEGIN", end: undo };
const reading: Mode = { begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isReading: true, end: commit };

/**
 * The connection of a transaction whose BEGIN is under way. A statement `withBegin` goes out behind it at once; any other waits
 * for it, because without a transaction it would last, and so does what comes after that one. Statements run in the order in
 * which they were asked for.
 */
function connectionWithin(connection: Connection, begun: Promise<unknown>, progress: Progress): Connection {
  let hasBegun = progress.isReading;
  let someWait = false;
  begun.then(
    () => {
      hasBegun = true;
    },
    () => {}, // whoever waits for it hears of its failure
  );
  return {
    async query(statement, options) {
      if (!hasBegun && (someWait || !options?.withBegin)) {
        someWait = true;
        await begun;
      }
      // Of work in parallel, one part may fail while another goes on: what it still asks for would last, or be another's.
      if (progress.hasEnded) throw new Error("the transaction has ended");
      return connection.query(statement, options);
    },
  };
}

interface Progress extends Required<Pick<Mode, "isReading">> {
  /** Its work has returned or failed. */
  hasEnded: boolean;
}

/** Where transactions get their connections. */
interface Source extends Pick<PoolSettings, "pooler"> {
  pool: pg.Pool;
}

async function runOnce<Result>(
  { pool, pooler }: Source,
  work: Work<Result>,
  { begin, isReading = false, end }: Mode,
  actor: EventActor | null,
): Promise<Result> {
  const client = await pool.connect();
  const begun = client.query(begin);
  const progress: Progress = { isReading, hasEnded: false };
  const written = connectionOver(client, pooler);
  const connection = connectionWithin(written, begun, progress);
  const unit: Unit = {
    actor,
    client,
    written,
    connection,
    movements: [],
    events: [],
    jobs: [],
    afterCommit: [],
    refusal: null,
  };
  let broken: Error | undefined;
  try {
    const result = await work(transactionOver(unit)).finally(() => {
      progress.hasEnded = true;
    });
    await begun;
    if (unit.refusal !== null) {
      await undo(unit);
      throw unit.refusal;
    }
    if (await end(unit)) for (const follow of unit.afterCommit) follow();
    return result;
  } catch (error) {
    // A connection that cannot roll back is closed, which releases its locks.
    await client.query("ROLLBACK").catch((reason: Error) => {
      broken = reason;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

async function run<Result>(
  source: Source,
  work: Work<Result>,
  mode: Mode,
  actor: EventActor | null = null,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(source, work, mode, actor);
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
  const watch = settings.closesWhenSilent ? closeWhenSilent(pool, databaseUrl) : null;
  let prisma: PrismaClient | undefined;
  const { pooler } = settings;
  const source: Source = { pool, pooler };
  const reads = pipelinedReads(pool, pooler);
  const others = connectionOver(pool, pooler);
  return {
    query: (statement, options) => (options?.sharesConnection ? reads : others).query(statement, options),
    // On first use: it takes 20 to 40 ms of CPU time, and most processes never need it.
    get prisma() {
      prisma ??= openPrisma(pool);
      return prisma;
    },
    pool,
    transaction: (work, actor) =>
      tracedWithin(
        () => "transaction",
        () => run(source, work, change, actor),
      ),
    rehearse: (work) =>
      tracedWithin(
        () => "rehearsal",
        () => run(source, work, rehearsal),
      ),
    snapshot: (read) =>
      tracedWithin(
        () => "snapshot",
        () => run(source, read, reading),
      ),
    async close() {
      await prisma?.$disconnect();
      await watch?.stop();
      await pool.end();
    },
  };
}
