import { advancePayout, findDuePayouts } from "../market/payouts/advance.ts";
import { applyProcessorEvent, findUnprocessedEvents } from "../market/processorEvents/apply.ts";
import { readMissedEvents } from "../market/processorEvents/inbox.ts";
import { acceptDelivery, findDueDeliveries } from "../market/tasks/acceptDelivery.ts";
import { expireTask, findOverdueTasks } from "../market/tasks/expireTask.ts";
import { checkTopup, findUnsettledTopups } from "../market/topups/check.ts";
import type { Services } from "../services.ts";

/**
 * Deadlines and inboxes live in the domain's own rows; jobs only make them prompt. These sweeps do what a lost job would
 * have done. Each looks at a partial index that is empty when nothing is late, so they may run often.
 */
const MAX_SWEEP_INTERVAL_MS = 1_000;
const MIN_SWEEP_INTERVAL_MS = 100;
const BATCH = 100;
/** Items of one sweep that are handled side by side: some of them wait for the payment processor. */
const PARALLEL = 4;

/** Finds what is due and handles it, a page at each round. */
type Sweep = (services: Services) => Promise<void>;

/** What is due, in a lasting order, after an item. What is put off when it fails may ignore that. */
type Find<Payload> = (services: Services, limit: number, after: Payload | null) => Promise<Payload[]>;

/**
 * One that fails must not hold up the others, not even when it fails always and is always among the first: a round goes
 * on where the one before ended, and begins anew after the last page.
 */
export function sweep<Payload>(
  find: Find<Payload>,
  handle: (services: Services, payload: Payload) => Promise<void>,
): Sweep {
  let after: Payload | null = null;
  return async (services) => {
    const page = await find(services, BATCH, after);
    after = page.length < BATCH ? null : (page.at(-1) ?? null);
    const items = page.values();
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

const createSweeps = (): Record<string, Sweep> => ({
  dueDeliveries: sweep(findDueDeliveries, acceptDelivery),
  overdueTasks: sweep(findOverdueTasks, expireTask),
  missedEvents: readMissedEvents,
  unprocessedEvents: sweep(findUnprocessedEvents, applyProcessorEvent),
  unsettledTopups: sweep(findUnsettledTopups, checkTopup),
  duePayouts: sweep(findDuePayouts, advancePayout),
});

/** One round of all sweeps. */
export async function sweepOnce(services: Services): Promise<void> {
  for (const run of Object.values(createSweeps())) await run(services);
}

/**
 * Sweeps at once, for what fell due while nothing ran, and then regularly. Each sweep has its own rounds, so that a slow
 * payment processor does not hold up deadlines. `stop` waits for the rounds under way.
 */
export function startSweeps(services: Services): { stop(): Promise<void> } {
  const running = Object.entries(createSweeps()).map(([name, run]) => startRounds(services, name, run));
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
