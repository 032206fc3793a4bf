import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger as GraphileLogger, run, type TaskList, type WorkerEvents } from "graphile-worker";
import type { Services } from "../services.ts";
import { startHeartbeat } from "./liveWorkers.ts";

// A future job is found by polling: this is how late a deadline can be at most, when nothing else is going on.
const POLL_INTERVAL_MS = 500;

/** How long a pool that has ended, most often since the database is away, waits before the next one is tried. */
const RESTART_PAUSE_MS = 500;

/** graphile-worker's log goes where ours goes. */
function loggerOver(services: Services): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    if (level === "error") services.log.error({ error: meta?.error }, message);
    else if (level === "warning") services.log.warn(message);
    else services.log.debug(message);
  });
}

export interface RunnerOptions {
  taskList: TaskList;
  crontab: string;
  concurrency: number;
}

interface Pool {
  /** Resolves when the pool takes no more jobs, whatever the reason. */
  ended: Promise<void>;
  /** Lets running jobs finish; nothing when the pool has ended by itself. */
  stop(): Promise<void>;
}

async function startPool(services: Services, options: RunnerOptions): Promise<Pool> {
  const events: WorkerEvents = new EventEmitter();
  // The pool's id is what graphile-worker writes into the jobs that it takes.
  const poolId = new Promise<string>((resolve) => {
    events.once("pool:create", ({ workerPool }) => resolve(workerPool.id));
  });
  const broken = new Promise<void>((resolve) => events.once("pool:fatalError", () => resolve()));
  const runner = await run({
    ...options,
    pgPool: services.database.pool,
    pollInterval: POLL_INTERVAL_MS,
    noHandleSignals: true,
    logger: loggerOver(services),
    events,
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  });
  const heartbeat = startHeartbeat(services, await poolId);
  let hasEnded = false;
  // A pool that breaks may wait for ever for its own end (a count of what is pending goes wrong), so nobody waits for it.
  const ended = Promise.race([broken, runner.promise.catch(() => undefined)]).then(async () => {
    hasEnded = true;
    await heartbeat.stop().catch(() => undefined); // Without the database it is off the list in 30 s.
  });
  return {
    ended,
    async stop() {
      if (!hasEnded) await runner.stop();
      await ended;
    },
  };
}

/**
 * Runs jobs until `stop`, which lets running jobs finish.
 *
 * graphile-worker 0.18 does not outlive a lost connection: when it cannot write down that a job is done, it ends the
 * whole pool, and without the batches set above that error even reaches nobody, which ends the process. So a pool that
 * ends is followed by a new one. The jobs that the one before still had locked are those of a worker that is gone.
 */
export async function startRunner(services: Services, options: RunnerOptions): Promise<{ stop(): Promise<void> }> {
  let stopping = false;
  let pool = await startPool(services, options);
  const restart = async () => {
    pool = await startPool(services, options);
    if (stopping) await pool.stop();
  };
  const running = (async () => {
    for (;;) {
      await pool.ended;
      if (stopping) return;
      services.log.warn("the job runner has ended and is started again");
      await sleep(RESTART_PAUSE_MS);
      await restart().catch((error: unknown) => services.log.warn({ error }, "the job runner cannot start yet"));
    }
  })();
  return {
    async stop() {
      stopping = true;
      await pool.stop();
      await running;
    },
  };
}
