import { ApiError } from "../errors.ts";
import { sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";

/** Source of all three: docs/contract.md "Limits". */
const DELIVERY_REPLAY_SECONDS = 10;
const ENDPOINT_REPLAY_SECONDS = 60;
const TESTS = 10;
const TESTS_SECONDS = 60;

/**
 * Each of these notes the time of a request in the row that it concerns, or throws `rate_limited` if the previous one was
 * too recent. The row's lock makes that exact: of several requests at once, one gets through.
 */
export async function startDeliveryReplay(tx: Transaction, deliveryId: string, now: Date): Promise<void> {
  const [last] = await tx.query<{ at: string | null }>(sql`
    SELECT replayed_at AS at FROM webhook_deliveries WHERE id = ${deliveryId}::uuid FOR NO KEY UPDATE`);
  refuseUntil(last?.at, DELIVERY_REPLAY_SECONDS, now, "A delivery can be replayed once in 10 seconds.");
  await tx.query(sql`
    UPDATE webhook_deliveries SET replayed_at = ${now.toISOString()}::timestamptz WHERE id = ${deliveryId}::uuid`);
}

export async function startEndpointReplay(tx: Transaction, endpointId: string, now: Date): Promise<void> {
  const [last] = await tx.query<{ at: string | null }>(sql`
    SELECT replayed_at AS at FROM webhook_endpoints WHERE id = ${endpointId}::uuid FOR NO KEY UPDATE`);
  const message = "The failed deliveries of an endpoint can be replayed once a minute.";
  refuseUntil(last?.at, ENDPOINT_REPLAY_SECONDS, now, message);
  await tx.query(sql`
    UPDATE webhook_endpoints SET replayed_at = ${now.toISOString()}::timestamptz WHERE id = ${endpointId}::uuid`);
}

export async function startTest(tx: Transaction, endpointId: string, now: Date): Promise<void> {
  const [tests] = await tx.query<{ tenth: string | null }>(sql`
    SELECT tested_at[cardinality(tested_at) - ${TESTS - 1}] AS tenth FROM webhook_endpoints
    WHERE id = ${endpointId}::uuid FOR NO KEY UPDATE`);
  refuseUntil(tests?.tenth, TESTS_SECONDS, now, `An endpoint can be tested ${TESTS} times a minute.`);
  await tx.query(sql`
    UPDATE webhook_endpoints
    SET tested_at = tested_at[cardinality(tested_at) - ${TESTS - 2}:] || ${now.toISOString()}::timestamptz
    WHERE id = ${endpointId}::uuid`);
}

/** Throws `rate_limited` until `seconds` have passed since `last`. */
function refuseUntil(last: string | null | undefined, seconds: number, now: Date, message: string): void {
  if (!last) return;
  const waitMs = Date.parse(last) + seconds * 1000 - now.getTime();
  if (waitMs <= 0) return;
  throw new ApiError("rate_limited", { message, retryAfterSeconds: Math.ceil(waitMs / 1000) });
}
