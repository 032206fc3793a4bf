import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { PatroniCluster } from "./patroni.ts";

const LIMIT_MS = 60_000;
/** Requests give up after 5 s in a line. */
const TRY_MS = 2_000;

/** Of which rows a commit is held: the transactions that wrote them, and the names of the processes that may have. */
interface Wanted {
  rows: string;
  processes: RegExp;
}

/** A commit that the synchronous standby has, and that nobody can be told of before `release`. */
export interface HeldCommit {
  /** Which process of the service made it. */
  process: string;
  release(): Promise<void>;
}

/**
 * Keeps the standby's confirmations from the primary until one of the wanted commits waits for its own: the standby has its
 * rows, and the primary is still waiting. What is killed now has surely not answered. Waiting for chance instead left three
 * crashes in a row without such a commit.
 */
export async function holdCommit(cluster: PatroniCluster, wanted: Wanted): Promise<HeldCommit> {
  const { primary, standby } = await cluster.pair();
  const [here, there] = await Promise.all([cluster.connect(primary), cluster.connect(standby)]);
  const release = () => standby.reconnect();
  try {
    for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(TRY_MS)) {
      await standby.withholdAnswersFrom(primary);
      const process = await findProcess(here, there, wanted);
      if (process !== null) return { process, release };
      // Another commit, which others have to wait for, was held before.
      await release();
    }
    throw new Error(`no commit of ${wanted.rows} was held`);
  } catch (error) {
    await release();
    throw error;
  } finally {
    await Promise.all([here.end(), there.end()]);
  }
}

async function findProcess(
  primary: pg.Client,
  standby: pg.Client,
  { rows, processes }: Wanted,
): Promise<string | null> {
  for (const deadline = Date.now() + TRY_MS; Date.now() < deadline; await sleep(10)) {
    const arrived = await standby.query<{ id: string }>(`SELECT DISTINCT xmin::text AS id FROM ${rows}`);
    const waiting = await primary.query<{ process: string }>(
      `SELECT application_name AS process FROM pg_stat_activity
       WHERE wait_event = 'SyncRep' AND backend_xid::text = ANY($1)`,
      [arrived.rows.map(({ id }) => id)],
    );
    const found = waiting.rows.find(({ process }) => processes.test(process));
    if (found !== undefined) return found.process;
  }
  return null;
}
