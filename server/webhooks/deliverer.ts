import { setTimeout as sleep } from "node:timers/promises";
import { EgressFailed, EgressRefused } from "../gateways/egress.ts";
import { timestampOf } from "../schemas/common.ts";
import type { Services } from "../services.ts";
import { isDatabaseAway } from "../store/databaseErrors.ts";
import { createBodies } from "./bodies.ts";
import { fanOut, nextBatchSize } from "./fanOut.ts";
import { createLanes, MAX_IN_FLIGHT } from "./lanes.ts";
import { type Claimed, claimDue, complete, NIL_UUID, type Outcome, promoteDueRetries } from "./queue.ts";
import { type Attempt, classifyResponse, retryDelaySeconds } from "./retries.ts";
import { deliveryHeaders } from "./sign.ts";

/** New events wait this long at most. `NOTIFY` would be sooner, but it serialises all commits of the database. */
const FAN_OUT_POLL_MS = 25;
/** What another process made due (a retry, a replay, its own fan-out) waits this long at most. */
const CLAIM_POLL_MS = 250;
/** Between two claims or two writes, so that each has some rows. */
const BATCHING_MS = 5;
const CLAIM_BATCH = 128;
/** A lease outlives the request's deadline by this much. Also how late a killed worker's deliveries can be. */
const LEASE_MARGIN_SECONDS = 5;
const PAUSE_AFTER_ERROR_MS = 500;
/** A stop waits this long for receivers; what they have not answered by then is sent again by another worker. */
const STOP_GRACE_MS = 5_000;

/** Lets a loop wait for a signal from elsewhere, or for a time. A signal that nobody waits for yet is kept. */
function createBell() {
  let rung = false;
  let wake = () => {};
  return {
    ring(): void {
      rung = true;
      wake();
    },
    async wait(timeoutMs: number): Promise<void> {
      if (!rung) {
        const timer = new AbortController();
        await Promise.race([
          new Promise<void>((resolve) => {
            wake = resolve;
          }),
          sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => {}),
        ]);
        timer.abort();
      }
      rung = false;
    },
  };
}

/** What the deliverer needs of the services. */
export interface DelivererServices extends Pick<Services, "database" | "egress" | "clock" | "log"> {
  readonly settings: Pick<Services["settings"], "webhookRetrySeconds" | "webhookTimeoutSeconds">;
}

/**
 * Sends events to their subscribers until `stop`, which gives what is under way some seconds. Any number of workers may run.
 *
 * Three loops over two tables: events become deliveries (`fanOut`), due deliveries are leased and sent (`claimDue`), and
 * what came of them is written in batches (`complete`). A worker that dies leaves leases that run out, and its
 * deliveries are sent again: at least once, with the same event id. A delivery counts as in flight until its outcome is
 * written, so memory is bounded, and a slow database slows the sending down.
 */
export function startDeliverer(services: DelivererServices): { stop(): Promise<void> } {
  const { database, egress, settings, clock, log } = services;
  const timeoutMs = settings.webhookTimeoutSeconds * 1000;
  const lanes = createLanes();
  const bodies = createBodies(database);
  const due = createBell();
  const done = createBell();
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
        if (isDatabaseAway(error)) log.warn(`${name} waits for the database`);
        else log.error({ error }, `${name} failed and is tried again`);
        await sleep(PAUSE_AFTER_ERROR_MS);
      }
    }
  };

  let batchSize = 10;
  const fanOutRound = async () => {
    const fanned = await fanOut(services, batchSize);
    if (fanned.deliveries > 0) due.ring();
    const wasFull = fanned.events === batchSize;
    if (fanned.events > 0) batchSize = nextBatchSize(fanned);
    if (!wasFull) await sleep(FAN_OUT_POLL_MS);
  };

  let afterEndpoint = NIL_UUID;
  const claimRound = async () => {
    const limit = Math.min(CLAIM_BATCH, MAX_IN_FLIGHT - inFlight);
    const free = lanes.free();
    laneWasFull = free.anyFull || limit <= 0;
    if (limit <= 0) return due.wait(CLAIM_POLL_MS);
    const leaseSeconds = settings.webhookTimeoutSeconds + LEASE_MARGIN_SECONDS;
    await promoteDueRetries(database, clock.now());
    const claimed = await claimDue(database, { limit, lanes: free, afterEndpoint, now: clock.now(), leaseSeconds });
    const eventBodies = await bodies.load(claimed.map(({ eventId }) => eventId));
    for (const delivery of claimed) {
      send(delivery, eventBodies.get(delivery.eventId)).catch((error: unknown) => {
        // A bug of ours must not end the process. Its lease runs out, and the delivery is taken up again.
        log.error({ error }, "a delivery failed on our side");
        inFlight--;
      });
    }
    // The next turn starts where this one ended; one that reached the end starts again from the first.
    const reachedEnd = claimed.length < limit;
    const startedAtFirst = afterEndpoint === NIL_UUID;
    afterEndpoint = reachedEnd ? NIL_UUID : lastEndpoint(claimed);
    if (claimed.length > 0 || !startedAtFirst) await sleep(BATCHING_MS);
    else await due.wait(CLAIM_POLL_MS);
  };

  const send = async (delivery: Claimed, body: Buffer | undefined): Promise<void> => {
    inFlight++;
    if (!delivery.active || body === undefined) {
      outcomes.push({ delivery, attempt: null, status: "failed", attemptsLeft: 0, dueAt: null, switchOff: false });
      return done.ring();
    }
    lanes.start(delivery);
    const attempt = await attemptOnce(delivery, body);
    lanes.finish(delivery, { succeeded: classifyResponse(attempt) === "succeeded", durationMs: attempt.durationMs });
    outcomes.push(outcomeOf(delivery, attempt, settings.webhookRetrySeconds, clock.now()));
    done.ring();
    if (laneWasFull) due.ring();
  };

  const attemptOnce = async (delivery: Claimed, body: Buffer): Promise<Attempt> => {
    const now = clock.now();
    const startedMs = performance.now();
    const result = await egress
      .post(delivery.url, { headers: deliveryHeaders(body, delivery.signingSecret, now), body, timeoutMs })
      .then(
        ({ statusCode }) => ({ statusCode, error: null }),
        (error: unknown) => ({ statusCode: null, error: reasonOf(error) }),
      );
    return { attemptedAt: timestampOf(now), durationMs: Math.round(performance.now() - startedMs), ...result };
  };

  const reasonOf = (error: unknown): string => {
    if (error instanceof EgressFailed || error instanceof EgressRefused) return error.message;
    log.error({ error }, "a delivery failed on our side");
    return "The delivery failed on our side.";
  };

  const writeRound = async () => {
    if (outcomes.length === 0) return done.wait(CLAIM_POLL_MS);
    const batch = firstOfEach(outcomes);
    await database.transaction((tx) => complete(tx, batch));
    const written = new Set(batch);
    outcomes = outcomes.filter((outcome) => !written.has(outcome));
    inFlight -= batch.length;
    if (laneWasFull) due.ring();
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
      due.ring();
      await senders;
      sendersEnded = true;
      done.ring();
      const grace = setTimeout(() => {
        graceOver = true;
        done.ring();
      }, STOP_GRACE_MS);
      await writer;
      clearTimeout(grace);
    },
  };
}

/** A batch is in no order; the endpoint that the claim came to last is the largest. */
function lastEndpoint(claimed: readonly Claimed[]): string {
  const [largest = NIL_UUID] = claimed.map(({ endpointId }) => endpointId).sort((a, b) => (a < b ? 1 : -1));
  return largest;
}

/**
 * The first outcome of each delivery. There are two of one when the database was away for longer than a lease, and the
 * delivery was sent again; they are written one after the other, since one statement would keep only either.
 */
function firstOfEach(outcomes: readonly Outcome[]): Outcome[] {
  const seen = new Set<string>();
  return outcomes.filter(({ delivery }) => !seen.has(delivery.id) && seen.add(delivery.id));
}

/** What an attempt means for its delivery. */
export function outcomeOf(delivery: Claimed, attempt: Attempt, schedule: readonly number[], now: Date): Outcome {
  const verdict = classifyResponse(attempt);
  const outcome = { delivery, attempt, attemptsLeft: 0, dueAt: null, switchOff: verdict === "gone" };
  if (verdict === "succeeded") return { ...outcome, status: "succeeded" };
  const attemptsLeft = delivery.attemptsLeft - 1;
  const delaySeconds = verdict === "retry" ? retryDelaySeconds(attemptsLeft, schedule) : null;
  if (delaySeconds === null) return { ...outcome, status: "failed" };
  return {
    ...outcome,
    status: "pending",
    attemptsLeft,
    dueAt: new Date(now.getTime() + delaySeconds * 1000).toISOString(),
  };
}
