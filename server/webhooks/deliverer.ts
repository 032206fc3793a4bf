import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../services.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { attemptOnce, outcomeOf } from "./attempt.ts";
import { createBodyCache } from "./bodyCache.ts";
import { type Claimed, claimDue, NIL_UUID, promoteDueRetries } from "./claim.ts";
import { complete, type Outcome } from "./complete.ts";
import { fanOut, nextBatchSize } from "./fanOut.ts";
import { createHeldRounds } from "./heldRounds.ts";
import { createLanes, MAX_IN_FLIGHT } from "./lanes.ts";
import { classifyResponse } from "./retries.ts";
import { createSignal } from "./signal.ts";

/**
 * Maximum delay until a new event is noticed. `NOTIFY` would be faster, but it serialises all commits of the database.
 */
const FAN_OUT_POLL_MS = 25;
/** Maximum delay until a delivery is noticed that another process made due: a retry, a replay, its own fan-out. */
const CLAIM_POLL_MS = 250;
/** Pause between batches, so that each batch fills. */
const BATCHING_MS = 5;
const CLAIM_BATCH = 128;
/** A lease outlasts the request's timeout by this long; a killed worker's deliveries are sent again after the lease. */
const LEASE_MARGIN_SECONDS = 5;
const PAUSE_AFTER_ERROR_MS = 500;
/** How long `stop` waits for responses; another worker repeats the deliveries without one. */
const STOP_GRACE_MS = 5_000;

/** The services that the deliverer uses. */
interface DelivererServices extends Pick<Services, "database" | "egress" | "clock" | "log"> {
  readonly settings: Pick<Services["settings"], "webhookRetrySeconds" | "webhookTimeoutSeconds">;
}

/**
 * Sends events to their subscribers until `stop`, which waits up to 5 seconds for requests under way. Any number of
 * workers may run.
 *
 * Three loops over two tables: events become deliveries (`fanOut`), due deliveries are leased and sent (`claimDue`),
 * and their outcomes are written in batches (`complete`). When a worker dies its leases expire and its deliveries are
 * sent again: at least once, with the same event id. A delivery counts as in flight until its outcome is written, which
 * bounds memory and lets a slow database slow down the sending. What goes to a host that has not answered yet is held
 * back, and sent one by one (`held.ts`).
 */
export function startDeliverer(services: DelivererServices): { stop(): Promise<void> } {
  const { database, settings, clock, log } = services;
  const timeoutMs = settings.webhookTimeoutSeconds * 1000;
  const leaseSeconds = settings.webhookTimeoutSeconds + LEASE_MARGIN_SECONDS;
  const lanes = createLanes();
  const heldRounds = createHeldRounds(services, leaseSeconds);
  const bodies = createBodyCache(database);
  const deliveriesDue = createSignal();
  const outcomesReady = createSignal();
  let outcomes: Outcome[] = [];
  let inFlight = 0;
  let laneWasFull = false;
  let stopping = false;
  let sendersEnded = false;
  let graceOver = false;

  const loop = async (name: string, ended: () => boolean, round: () => Promise<void>) => {
    while (!ended()) {
      try {
        await round();
      } catch (error) {
        if (isDatabaseUnavailable(error)) log.warn(`${name}: the database is unreachable; trying again`);
        else log.error({ error }, `${name} failed; trying again`);
        await sleep(PAUSE_AFTER_ERROR_MS);
      }
    }
  };

  let batchSize = 10;
  const fanOutRound = async () => {
    const fanned = await fanOut(services, batchSize);
    if (fanned.deliveries > 0) deliveriesDue.send();
    const wasFull = fanned.events === batchSize;
    if (fanned.events > 0) batchSize = nextBatchSize(fanned);
    if (!wasFull) await sleep(FAN_OUT_POLL_MS);
  };

  let afterEndpoint = NIL_UUID;
  const claimRound = async () => {
    const limit = Math.min(CLAIM_BATCH, MAX_IN_FLIGHT - inFlight);
    const free = lanes.free();
    laneWasFull = free.anyFull || limit <= 0;
    if (limit <= 0) return deliveriesDue.wait(CLAIM_POLL_MS);
    await promoteDueRetries(database, clock.now());
    const claims = await claimDue(database, { limit, lanes: free, afterEndpoint, now: clock.real(), leaseSeconds });
    const leased = claims.filter(({ held }) => !held);
    if (leased.length < claims.length) heldRounds.wake();
    await sendAll(leased);
    const held = await heldRounds.next(limit - leased.length, lanes.free().others > 0);
    await sendAll(held.claimed);
    // The next claim starts where this one ended, or from the first endpoint when this one reached the end.
    const reachedEnd = claims.length < limit;
    const startedAtFirst = afterEndpoint === NIL_UUID;
    afterEndpoint = reachedEnd ? NIL_UUID : lastEndpoint(claims);
    const busy = claims.length + held.claimed.length + held.released > 0;
    if (busy || !startedAtFirst) await sleep(BATCHING_MS);
    else await deliveriesDue.wait(CLAIM_POLL_MS);
  };

  const sendAll = async (deliveries: readonly Claimed[]): Promise<void> => {
    const eventBodies = await bodies.load(deliveries.map(({ eventId }) => eventId));
    for (const delivery of deliveries) {
      send(delivery, eventBodies.get(delivery.eventId)).catch((error: unknown) => {
        // A bug here must not end the process. The lease expires, and the delivery is claimed again.
        log.error({ error }, "a delivery failed on our side");
        inFlight--;
      });
    }
  };

  const send = async (delivery: Claimed, body: Buffer | undefined): Promise<void> => {
    inFlight++;
    if (!delivery.active || body === undefined) {
      outcomes.push({ delivery, attempt: null, status: "failed", attemptsLeft: 0, dueAt: null, switchOff: false });
      return outcomesReady.send();
    }
    lanes.start(delivery);
    const attempt = await attemptOnce(services, delivery, { body, timeoutMs });
    lanes.finish(delivery, { succeeded: classifyResponse(attempt) === "succeeded", durationMs: attempt.durationMs });
    outcomes.push(outcomeOf(delivery, attempt, settings.webhookRetrySeconds, clock.now()));
    outcomesReady.send();
    if (laneWasFull) deliveriesDue.send();
  };

  const writeRound = async () => {
    if (outcomes.length === 0) return outcomesReady.wait(CLAIM_POLL_MS);
    const batch = firstOfEach(outcomes);
    await database.transaction((tx) => complete(tx, batch));
    const written = new Set(batch);
    outcomes = outcomes.filter((outcome) => !written.has(outcome));
    inFlight -= batch.length;
    const provesHost = batch.some(({ delivery, status }) => delivery.provesHost && status === "succeeded");
    if (provesHost) heldRounds.wake();
    if (provesHost || laneWasFull) deliveriesDue.send();
    await sleep(BATCHING_MS);
  };

  const senders = Promise.all([
    loop("the fan-out of events", () => stopping, fanOutRound),
    loop("claiming deliveries", () => stopping, claimRound),
  ]);
  const nothingLeft = () => inFlight === 0 || (graceOver && outcomes.length === 0);
  const writer = loop("writing deliveries", () => sendersEnded && nothingLeft(), writeRound);
  return {
    async stop() {
      stopping = true;
      deliveriesDue.send();
      await senders;
      sendersEnded = true;
      outcomesReady.send();
      const grace = setTimeout(() => {
        graceOver = true;
        outcomesReady.send();
      }, STOP_GRACE_MS);
      await writer;
      clearTimeout(grace);
    },
  };
}

/** Returns the endpoint that the claim reached last: the largest id, because the batch itself is unordered. */
function lastEndpoint(claimed: readonly Claimed[]): string {
  const [largest = NIL_UUID] = claimed.map(({ endpointId }) => endpointId).sort((a, b) => (a < b ? 1 : -1));
  return largest;
}

/**
 * Returns the first outcome of each delivery. A delivery has two when the database was unreachable for longer than a
 * lease and the delivery was sent again. They are written one after the other: one statement would keep only one.
 */
function firstOfEach(outcomes: readonly Outcome[]): Outcome[] {
  const seen = new Set<string>();
  return outcomes.filter(({ delivery }) => !seen.has(delivery.id) && seen.add(delivery.id));
}
