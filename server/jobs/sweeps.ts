import type { Services } from "../services.ts";
import { acceptDelivery, findDueDeliveries } from "./acceptDelivery.ts";
import { advancePayout, findDuePayouts } from "./advancePayout.ts";
import { applyProcessorEvent, findUnprocessedEvents } from "./applyProcessorEvent.ts";
import { checkTopup, findUnsettledTopups } from "./checkTopup.ts";
import { expireTask, findOverdueTasks } from "./expireTask.ts";
import { readMissedEvents } from "./processorEvents/inbox.ts";

/**
 * Deadlines and inboxes live in the domain's own rows; jobs only make them prompt. These sweeps do what a lost job would
 * have done. Each looks at a partial index that is empty when nothing is late, so they may run often.
 */
const MAX_SWEEP_INTERVAL_MS = 1_000;
const MIN_SWEEP_INTERVAL_MS = 100;
const BATCH = 100;
/** Items of one sweep that are handled side by side: some of them wait for the payment processor. */
const PARALLEL = 4;

/** Finds what is due and handles it. One that fails must not hold up the others; it comes again with the next round. */
type Sweep = (services: Services) => Promise<void>;

function sweep<Payload>(
  find: (services: Services, limit: number) => Promise<Payload[]>,
  handle: (services: Services, payload: Payload) => Promise<void>,
): Sweep {
  return async (services) => {
    const items = (await find(services, BATCH)).values();
    const handleNext = async () => {
      for (const payload of items) {
        await handle(services, payload).catch((error: unknown) =>
          services.log.error({ payload, error }, "a swept item failed"),
        );
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, handleNext));
  };
}

const sweeps: Record<string, Sweep> = {
  dueDeliveries: sweep(findDueDeliveries, acceptDelivery),
  overdueTasks: sweep(findOverdueTasks, expireTask),
  missedEvents: readMissedEvents,
  unprocessedEvents: sweep(findUnprocessedEvents, applyProcessorEvent),
  unsettledTopups: sweep(findUnsettledTopups, checkTopup),
  duePayouts: sweep(findDuePayouts, advancePayout),
};

/** One round of all sweeps. */
export async function sweepOnce(services: Services): Promise<void> {
  for (const run of Object.values(sweeps)) await run(services);
}

/**
 * Sweeps at once, for what fell due while nothing ran, and then regularly. Each sweep has its own rounds, so that a slow
 * payment processor does not hold up deadlines. `stop` waits for the rounds under way.
 */
export function startSweeps(services: Services): { stop(): Promise<void> } {
  const running = Object.entries(sweeps).map(([name, run]) => startRounds(services, name, run));
  return {
    async stop() {
      await Promise.all(running.map(({ stop }) => stop()));
    },
  };
}

function startRounds(services: Services, name: string, run: Sweep): { stop(): Promise<void> } {
  // What hangs is settled within the polling interval, so rounds come a few times in it.
  const { processorPollSeconds } = services.settings;
  const intervalMs = Math.min(MAX_SWEEP_INTERVAL_MS, Math.max(MIN_SWEEP_INTERVAL_MS, processorPollSeconds * 250));
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let round = Promise.resolve();
  const next = () => {
    round = run(services)
      .catch((error: unknown) => services.log.error({ sweep: name, error }, "a sweep failed"))
      .then(() => {
        if (!stopped) timer = setTimeout(next, intervalMs);
      });
  };
  next();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}
