import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Logger as GraphileLogger, run, type TaskList, type WorkerEvents } from "graphile-worker";
import type { Services } from "../services.ts";
import { logFailure } from "../store/logFailure.ts";
import { startHeartbeat } from "./liveWorkers.ts";

/** Scheduled jobs are found by polling, so this is how late an idle worker can be. */
const POLL_INTERVAL_MS = 500;

/** Pause before a pool that has ended is restarted; it usually ends because the database is unreachable. */
const RESTART_PAUSE_MS = 500;

/** Forwards graphile-worker's log to ours. Of a pool that has broken, the reason is enough: a new one replaces it. */
function createGraphileLogger({ log }: Services, isBroken: () => boolean): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    const error = meta?.error ?? meta?.fatalError;
    if (level === "error" && (error !== undefined || !isBroken())) logFailure(log, error, {}, message);
    else if (level === "warning" && !isBroken()) log.warn(message);
    else log.debug(message);
  });
}

interface RunnerOptions {
  taskList: TaskList;
  crontab: string;
  concurrency: number;
}

interface Pool {
  /** Resolves when the pool no longer takes jobs, for whatever reason. */
  ended: Promise<void>;
  /** Stops taking jobs and lets running ones finish; does nothing if the pool has already ended. */
  stop(): Promise<void>;
}

async function startPool(services: Services, options: RunnerOptions): Promise<Pool> {
  const events: WorkerEvents = new EventEmitter();
  // The pool's id is what graphile-worker writes into the jobs that it takes.
  const poolId = new Promise<string>((resolve) => {
    events.once("pool:create", ({ workerPool }) => resolve(workerPool.id));
  });
  let isBroken = false;
  const broken = new Promise<void>((resolve) => {
    events.once("pool:fatalError", () => {
      isBroken = true;
      resolve();
    });
  });
  const runner = await run({
    ...options,
    pgPool: services.database.pool,
    pollInterval: POLL_INTERVAL_MS,
    noHandleSignals: true,
    logger: createGraphileLogger(services, () => isBroken),
    events,
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  });
  const heartbeat = startHeartbeat(services, await poolId);
  let hasEnded = false;
  // A broken pool may never end, because its count of pending work is wrong, so nothing waits for it.
  const ended = Promise.race([broken, runner.promise.catch(() => undefined)]).then(async () => {
    hasEnded = true;
    await heartbeat.stop().catch(() => undefined); // Without the database the heartbeat simply expires after 30 s.
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
 * graphile-worker 0.18 does not survive a lost connection: when it cannot record that a job is done, it ends the whole
 * pool, and without the batch settings above nobody handles that error, which ends the process. So a pool that ends is
 * replaced by a new one. Jobs that the old pool still had locked are unlocked like those of a dead worker.
 */
export async function startRunner(services: Services, options: RunnerOptions): Promise<{ stop(): Promise<void> }> {
  // It prints the stack of each worker of a broken pool, past its own log. Nothing else of the service calls this.
  console.trace = (error: unknown) => services.log.debug({ error }, "a worker of the job runner ended");
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
      services.log.debug("the job runner ended; restarting it");
      await sleep(RESTART_PAUSE_MS);
      await restart().catch((error: unknown) =>
        logFailure(services.log, error, {}, "the job runner cannot start; trying again"),
      );
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
