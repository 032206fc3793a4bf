import type { Services } from "../services.ts";
import { acceptDelivery, findDueDeliveries } from "./acceptDelivery.ts";
import { applyProcessorEvent, findUnprocessedEvents } from "./applyProcessorEvent.ts";

/**
 * Deadlines and inboxes live in the domain's own rows; jobs only make them prompt. These sweeps do what a lost job would
 * have done. Each looks at a partial index that is empty when nothing is late, so they may run often.
 */
const SWEEP_INTERVAL_MS = 1_000;
const BATCH = 100;

async function sweep<Payload>(
  services: Services,
  find: (services: Services, limit: number) => Promise<Payload[]>,
  handle: (services: Services, payload: Payload) => Promise<void>,
): Promise<void> {
  for (const payload of await find(services, BATCH)) {
    // One that fails must not hold up the others; it comes again with the next sweep.
    await handle(services, payload).catch((error: unknown) =>
      services.log.error({ payload, error }, "a swept item failed"),
    );
  }
}

/** One round of all sweeps. */
export async function sweepOnce(services: Services): Promise<void> {
  await sweep(services, findDueDeliveries, acceptDelivery);
  await sweep(services, findUnprocessedEvents, applyProcessorEvent);
}

/** Sweeps at once, for what fell due while nothing ran, and then regularly. `stop` waits for the round under way. */
export function startSweeps(services: Services): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let round = Promise.resolve();
  const next = () => {
    round = sweepOnce(services)
      .catch((error: unknown) => services.log.error({ error }, "a sweep failed"))
      .then(() => {
        if (!stopped) timer = setTimeout(next, SWEEP_INTERVAL_MS);
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
