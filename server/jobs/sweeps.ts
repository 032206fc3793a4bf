import { checkAfterRestore } from "../audit/reconcile/afterRestore.ts";
import { endOverdueApproval, findOverdueApprovals } from "../auth/approvals/end.ts";
import { findWindingDown, windDown } from "../market/accounts/windDown.ts";
import { findLapsedAgreements, lapseAgreement } from "../market/agreements/lapse.ts";
import { checkDelivery, findUnchecked } from "../market/checks/checkDelivery.ts";
import { findDueExports, makeExport } from "../market/papers/makeExport.ts";
import { numberReceipts } from "../market/papers/receipts.ts";
import { advancePayout, findDuePayouts } from "../market/payouts/advance.ts";
import { applyProcessorEvent, findUnprocessedEvents } from "../market/processorEvents/apply.ts";
import { readMissedEvents } from "../market/processorEvents/inbox.ts";
import { acceptDelivery, findDueDeliveries } from "../market/tasks/acceptDelivery.ts";
import { endOverdueRound } from "../market/tasks/endOverdueRound.ts";
import { expireTask, findOverdueTasks } from "../market/tasks/expireTask.ts";
import { findOverdueRounds } from "../market/tasks/rounds.ts";
import { checkTopup, findUnsettledTopups } from "../market/topups/check.ts";
import { pruneKeptAnswers } from "../repeats/keptAnswers.ts";
import type { Services } from "../services.ts";
import { logFailure } from "../store/logFailure.ts";

// Due work is found in the domain's own rows, and jobs only make it prompt: a sweep does what a lost job would have
// done. Each sweep reads a partial index that is empty when nothing is late, so sweeps can run often.
const MAX_SWEEP_INTERVAL_MS = 1_000;
const MIN_SWEEP_INTERVAL_MS = 100;
const BATCH = 100;
/** How many items of a sweep are handled in parallel, because some wait for the payment processor. */
const PARALLEL = 4;

/** Handles one page of due items per round. */
type Sweep = (services: Services) => Promise<void>;

/**
 * Returns due items in stable order, starting after `after`. May ignore `after` if failed items become due only later.
 */
type Find<Payload> = (services: Services, limit: number, after: Payload | null) => Promise<Payload[]>;

/**
 * Builds a sweep. An item that fails every time must not hold up the others, even when it is always among the first, so
 * each round continues where the previous one ended, and starts over after the last page.
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
          logFailure(services.log, error, { payload }, "a sweep failed to handle an item"),
        );
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, handleNext));
  };
}

const createSweeps = (): Record<string, Sweep> => ({
  dueDeliveries: sweep(findDueDeliveries, acceptDelivery),
  uncheckedDeliveries: sweep(findUnchecked, checkDelivery),
  overdueTasks: sweep(findOverdueTasks, expireTask),
  overdueRounds: sweep(findOverdueRounds, endOverdueRound),
  lapsedAgreements: sweep(findLapsedAgreements, lapseAgreement),
  overdueApprovals: sweep(findOverdueApprovals, endOverdueApproval),
  suspendedUsers: sweep(findWindingDown, windDown),
  missedEvents: readMissedEvents,
  unprocessedEvents: sweep(findUnprocessedEvents, applyProcessorEvent),
  unsettledTopups: sweep(findUnsettledTopups, checkTopup),
  afterRestore: checkAfterRestore,
  duePayouts: sweep(findDuePayouts, advancePayout),
  receipts: numberReceipts,
  dueExports: sweep(findDueExports, makeExport),
  keptAnswers: pruneKeptAnswers,
});

/** Runs one round of every sweep. */
export async function sweepOnce(services: Services): Promise<void> {
  for (const run of Object.values(createSweeps())) await run(services);
}

/**
 * Sweeps at once, for everything that fell due while no worker ran, and then regularly. Each sweep runs independently, so that
 * a slow payment processor does not delay deadlines. `stop` waits for the rounds under way.
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
  // Anything stuck must be settled within the polling interval, so a few rounds must fit into it.
  const { processorPollSeconds } = services.settings;
  const intervalMs = Math.min(MAX_SWEEP_INTERVAL_MS, Math.max(MIN_SWEEP_INTERVAL_MS, processorPollSeconds * 250));
  let timer: NodeJS.Timeout | undefined; // defined between two rounds
  let stopped = false;
  let round = Promise.resolve();
  const next = () => {
    timer = undefined;
    round = run(services)
      .catch((error: unknown) => logFailure(services.log, error, { sweep: name }, "a sweep failed"))
      .then(() => {
        if (!stopped) timer = setTimeout(next, intervalMs);
      });
  };
  next();
  const ignoreClock = services.clock.onAdvance(() => {
    if (timer === undefined) return;
    clearTimeout(timer);
    next();
  });
  return {
    async stop() {
      stopped = true;
      ignoreClock();
      clearTimeout(timer);
      await round;
    },
  };
}
