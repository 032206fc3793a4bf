import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../services.ts";
import { NIL_UUID } from "../store/connection.ts";
import { logFailure } from "../store/logFailure.ts";
import { attemptOnce, outcomeOf } from "./attempt.ts";
import { createBodyCache, type EventBody } from "./bodyCache.ts";
import { complete, type Outcome } from "./complete.ts";
import { fanOut, nextBatchSize } from "./fanOut.ts";
import { createHeldRounds } from "./heldRounds.ts";
import { Lanes, MAX_IN_FLIGHT } from "./lanes.ts";
import { type Attempt, classifyResponse } from "./retries.ts";
import { createSignal } from "./signal.ts";
import { type LeasedDelivery, promoteDueRetries, takeDue } from "./take.ts";

/**
 * Maximum delay until a new event is noticed. `NOTIFY` would be faster, but it serialises all commits of the database.
 */
const FAN_OUT_POLL_MS = 25;
/** Maximum delay until a delivery is noticed that another process made due: a retry, a replay, its own fan-out. */
const TAKE_POLL_MS = 250;
/** Pause between batches, so that each batch fills. */
const BATCHING_MS = 5;
const TAKE_BATCH = 128;
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
 * `started`: all loops run. `draining`: nothing is fanned out or taken; responses still come and are written. `stopped`: the
 * outcomes that are there are written, and nothing else.
 */
type Mode = "started" | "draining" | "stopped";
const modeBefore: Record<Exclude<Mode, "started">, Mode> = { draining: "started", stopped: "draining" };

/**
 * Sends events to their subscribers until `stop`, which waits up to 5 seconds for requests under way. Any number of
 * workers may run.
 */
export function startDeliverer(services: DelivererServices): { stop(): Promise<void> } {
  const deliverer = new Deliverer(services);
  return { stop: () => deliverer.stop() };
}

/**
 * Three loops over two tables: events become deliveries (`fanOut`), due deliveries are leased and sent (`takeDue`),
 * and their outcomes are written in batches (`complete`). When a worker dies its leases expire and its deliveries are
 * sent again: at least once, with the same event id. A delivery counts as in flight until its outcome is written, which
 * bounds memory and lets a slow database slow down the sending. What goes to a host that has not answered yet is held
 * back, and sent one by one (`held.ts`).
 */
class Deliverer {
  readonly #services: DelivererServices;
  readonly #leaseSeconds: number;
  readonly #lanes = new Lanes();
  readonly #heldRounds: ReturnType<typeof createHeldRounds>;
  readonly #bodies: ReturnType<typeof createBodyCache>;
  readonly #deliveriesDue = createSignal();
  readonly #outcomesReady = createSignal();
  /** Sent when fewer are in flight. */
  readonly #landed = createSignal();
  readonly #senders: Promise<unknown>;
  readonly #writer: Promise<void>;
  #mode: Mode = "started";
  #outcomes: Outcome[] = [];
  #inFlight = 0;
  #laneWasFull = false;
  #fanOutBatch = 10;
  #afterEndpoint = NIL_UUID;

  constructor(services: DelivererServices) {
    this.#services = services;
    this.#leaseSeconds = services.settings.webhookTimeoutSeconds + LEASE_MARGIN_SECONDS;
    this.#heldRounds = createHeldRounds(services, this.#leaseSeconds);
    this.#bodies = createBodyCache(services.database);
    const isStarted = () => this.#mode === "started";
    this.#senders = Promise.all([
      this.#loop("the fan-out of events", isStarted, () => this.#fanOut()),
      this.#loop("taking deliveries", isStarted, () => this.#take()),
    ]);
    const mayWrite = () => this.#mode !== "stopped" || this.#outcomes.length > 0;
    this.#writer = this.#loop("writing deliveries", mayWrite, () => this.#write());
  }

  async stop(): Promise<void> {
    this.#enter("draining");
    await this.#senders;
    const graceEndsMs = performance.now() + STOP_GRACE_MS;
    for (let leftMs = STOP_GRACE_MS; this.#inFlight > 0 && leftMs > 0; leftMs = graceEndsMs - performance.now())
      await this.#landed.wait(leftMs);
    this.#enter("stopped");
    await this.#writer;
  }

  #enter(mode: keyof typeof modeBefore): void {
    if (this.#mode !== modeBefore[mode]) throw new Error(`a deliverer that is ${this.#mode} cannot become ${mode}`);
    this.#mode = mode;
    this.#deliveriesDue.send();
    this.#outcomesReady.send();
  }

  async #loop(name: string, goesOn: () => boolean, round: () => Promise<void>): Promise<void> {
    const { log } = this.#services;
    while (goesOn()) {
      try {
        await round();
      } catch (error) {
        logFailure(log, error, {}, `${name} failed; trying again`);
        await sleep(PAUSE_AFTER_ERROR_MS);
      }
    }
  }

  async #fanOut(): Promise<void> {
    const fanned = await fanOut(this.#services, this.#fanOutBatch);
    if (fanned.deliveries > 0) this.#deliveriesDue.send();
    const wasFull = fanned.events === this.#fanOutBatch;
    if (fanned.events > 0) this.#fanOutBatch = nextBatchSize(fanned);
    if (!wasFull) await sleep(FAN_OUT_POLL_MS);
  }

  async #take(): Promise<void> {
    const { database, clock } = this.#services;
    const limit = Math.min(TAKE_BATCH, MAX_IN_FLIGHT - this.#inFlight);
    const lanes = this.#lanes.free();
    this.#laneWasFull = lanes.anyFull || limit <= 0;
    if (limit <= 0) return this.#deliveriesDue.wait(TAKE_POLL_MS);
    await promoteDueRetries(database, clock.now());
    const afterEndpoint = this.#afterEndpoint;
    const leaseSeconds = this.#leaseSeconds;
    const taken = await takeDue(database, { limit, lanes, afterEndpoint, now: clock.real(), leaseSeconds });
    const leased = taken.filter(({ held }) => !held);
    if (leased.length < taken.length) this.#heldRounds.wake();
    await this.#sendAll(leased);
    const held = await this.#heldRounds.next(limit - leased.length, this.#lanes.free().others > 0);
    await this.#sendAll(held.taken);
    // The next round starts where this one ended, or from the first endpoint when this one reached the end.
    this.#afterEndpoint = taken.length < limit ? NIL_UUID : lastEndpoint(taken);
    const busy = taken.length + held.taken.length + held.released > 0;
    if (busy || afterEndpoint !== NIL_UUID) await sleep(BATCHING_MS);
    else await this.#deliveriesDue.wait(TAKE_POLL_MS);
  }

  async #sendAll(deliveries: readonly LeasedDelivery[]): Promise<void> {
    const bodies = await this.#bodies.load(deliveries.map(({ eventId }) => eventId));
    for (const delivery of deliveries) {
      this.#inFlight++;
      this.#send(delivery, bodies.get(delivery.eventId)).then(
        (outcome) => {
          this.#outcomes.push(outcome);
          this.#outcomesReady.send();
        },
        (error: unknown) => {
          // A bug here must not end the process. The lease expires, and the delivery is taken again.
          this.#services.log.error({ error }, "a delivery failed on our side");
          this.#land(1);
        },
      );
    }
  }

  async #send(delivery: LeasedDelivery, event: EventBody | undefined): Promise<Outcome> {
    if (!delivery.active || event === undefined)
      return { delivery, attempt: null, status: "failed", attemptsLeft: 0, dueAt: null, switchOff: false };
    const { settings, clock } = this.#services;
    const timeoutMs = settings.webhookTimeoutSeconds * 1000;
    const attempt = await this.#inLane(delivery, () => attemptOnce(this.#services, delivery, { ...event, timeoutMs }));
    return outcomeOf(delivery, attempt, settings.webhookRetrySeconds, clock.now());
  }

  /** Makes an attempt in the endpoint's lane, which is given back here, however the attempt ends. */
  async #inLane(delivery: LeasedDelivery, send: () => Promise<Attempt>): Promise<Attempt> {
    this.#lanes.start(delivery);
    let result = { succeeded: false, durationMs: 0 };
    try {
      const attempt = await send();
      result = { succeeded: classifyResponse(attempt) === "succeeded", durationMs: attempt.durationMs };
      return attempt;
    } finally {
      this.#lanes.finish(delivery, result);
      if (this.#laneWasFull) this.#deliveriesDue.send();
    }
  }

  async #write(): Promise<void> {
    if (this.#outcomes.length === 0) return this.#outcomesReady.wait(TAKE_POLL_MS);
    const batch = firstOfEach(this.#outcomes);
    await this.#services.database.transaction((tx) => complete(tx, batch));
    const written = new Set(batch);
    this.#outcomes = this.#outcomes.filter((outcome) => !written.has(outcome));
    const provesHost = batch.some(({ delivery, status }) => delivery.provesHost && status === "succeeded");
    if (provesHost) this.#heldRounds.wake();
    if (provesHost || this.#laneWasFull) this.#deliveriesDue.send();
    this.#land(batch.length);
    await sleep(BATCHING_MS);
  }

  #land(count: number): void {
    this.#inFlight -= count;
    this.#landed.send();
  }
}

/** Returns the endpoint that was reached last: the largest id, because the batch itself is unordered. */
function lastEndpoint(taken: readonly LeasedDelivery[]): string {
  const [largest = NIL_UUID] = taken.map(({ endpointId }) => endpointId).sort((a, b) => (a < b ? 1 : -1));
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
