import { createHmac } from "node:crypto";
import { Alarm } from "./alarm.ts";
import type { World } from "./world.ts";

/** Delays between attempts, in milliseconds. The last one repeats until the receiver responds with 2xx. */
const RETRY_DELAYS_MS = [200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 60_000];
const ATTEMPT_TIMEOUT_MS = 10_000;
const MAX_PARALLEL = 8;

/**
 * Posts the queued events, signed, to one URL. The queue is stored, so each event is sent until it has been received,
 * even if either side restarts. Up to eight events are sent at once and, as at Stripe, their order is not guaranteed.
 */
export class Deliveries {
  readonly #world: World;
  readonly #settings: { eventsUrl: string; webhookSecret: string };
  readonly #inFlight = new Set<number>();
  readonly #abort = new AbortController();
  readonly alarm: Alarm;

  constructor(world: World, settings: { eventsUrl: string; webhookSecret: string }) {
    this.#world = world;
    this.#settings = settings;
    this.alarm = new Alarm(
      world.nowMs,
      () => this.#nextDueMs(),
      () => this.#sendDue(),
    );
  }

  /** Retries all pending events at once, without waiting for the rest of their delays. */
  start(): void {
    this.#world.store.run("update deliveries set next_attempt_ms = 0 where delivered_ms is null");
    this.alarm.check();
  }

  stop(): void {
    this.alarm.stop();
    this.#abort.abort();
  }

  #nextDueMs(): number | null {
    if (this.#inFlight.size >= MAX_PARALLEL) return null;
    const [row] = this.#pending(1);
    return row === undefined ? null : Number(row.next_attempt_ms);
  }

  #pending(limit: number): Record<string, unknown>[] {
    const sql = `select id, event_id, attempts, next_attempt_ms from deliveries
      where delivered_ms is null and id not in (select value from json_each(?)) order by next_attempt_ms, id limit ?`;
    return this.#world.store.rows(sql, JSON.stringify([...this.#inFlight]), limit);
  }

  #sendDue(): void {
    const now = this.#world.nowMs();
    for (const row of this.#pending(MAX_PARALLEL - this.#inFlight.size)) {
      if (Number(row.next_attempt_ms) <= now)
        void this.#send(Number(row.id), String(row.event_id), Number(row.attempts));
    }
  }

  async #send(id: number, eventId: string, attempts: number): Promise<void> {
    this.#inFlight.add(id);
    const received = await this.#post(JSON.stringify(this.#world.store.findAny(eventId)));
    if (this.#abort.signal.aborted) return;
    this.#inFlight.delete(id);
    const { store } = this.#world;
    if (received) {
      store.run(
        "update deliveries set delivered_ms = ?, attempts = attempts + 1 where id = ?",
        this.#world.nowMs(),
        id,
      );
    } else {
      const delayMs = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length - 1)] ?? 60_000;
      const sql = "update deliveries set next_attempt_ms = ?, attempts = attempts + 1 where id = ?";
      store.run(sql, this.#world.nowMs() + delayMs, id);
    }
    this.alarm.check();
  }

  async #post(body: string): Promise<boolean> {
    const { eventsUrl, webhookSecret } = this.#settings;
    try {
      const response = await fetch(eventsUrl, {
        method: "POST",
        redirect: "manual",
        headers: {
          "Content-Type": "application/json; charset=utf-8",
          "User-Agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
          "Stripe-Signature": signature(body, webhookSecret, Math.floor(this.#world.realMs() / 1000)),
        },
        body,
        signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]),
      });
      await response.body?.cancel();
      return response.ok;
    } catch {
      // The receiver is unreachable or too slow. The event stays in the queue.
      return false;
    }
  }
}

/**
 * Signs a body with Stripe's scheme: HMAC-SHA256 over the time and the body, with each of the secrets, which commas separate. Each
 * attempt has its own signature.
 */
export function signature(body: string, secrets: string, epochSeconds: number): string {
  const sign = (secret: string) => createHmac("sha256", secret).update(`${epochSeconds}.${body}`).digest("hex");
  return [`t=${epochSeconds}`, ...secrets.split(",").map((secret) => `v1=${sign(secret)}`)].join(",");
}
