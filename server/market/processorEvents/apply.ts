import { z } from "zod";
import { ProcessorRefused, ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { type EventOutcome, unexpected } from "../eventOutcome.ts";
import { type Effect, interpretEvent } from "./interpret.ts";

/** A `ProcessorEvent`, as stored by the inbox. */
const StoredEvent = z.object({
  id: z.string(),
  type: z.string(),
  account: z.string().nullable(),
  data: z.unknown(),
  relatedObjectId: z.string().nullable(),
});

/**
 * Applies a stored event and marks it as processed in the same transaction, after fetching whatever is needed from the
 * processor. Events arrive in any order and any number of times, and no effect depends on either. An unknown type of
 * event is kept and has no effect. While the processor is unreachable, or the payment behind a refund or dispute is not
 * credited, the event stays for a later sweep.
 */
export async function applyProcessorEvent(
  services: Services,
  { eventId }: JobPayload<"applyProcessorEvent">,
): Promise<void> {
  try {
    await applyOnce(services, eventId);
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error;
    services.log.warn({ eventId, error }, "the payment processor is unreachable; the event is retried later");
  }
}

async function applyOnce(services: Services, eventId: string): Promise<void> {
  const { database, log } = services;
  const [stored] = await database.query<{ payload: unknown }>(sql`
    UPDATE processor_events SET attempts = attempts + 1,
      next_attempt_at = service_now() + least(5 * power(2, least(attempts, 10)), 3600) * interval '1 second'
    WHERE id = ${eventId} AND processed_at IS NULL RETURNING payload`);
  if (!stored) return;
  const effect = await interpretEvent(services, StoredEvent.parse(stored.payload)).catch((error: unknown): Effect => {
    if (error instanceof ProcessorRefused) return () => unexpected(`the processor refused: ${error.message}`);
    throw error;
  });
  if (effect === null) {
    return log.warn({ eventId }, "the payment behind an event is not credited yet; the event is retried later");
  }
  await database.transaction(async (tx) => {
    const [row] = await tx.query(sql`
      SELECT id FROM processor_events WHERE id = ${eventId} AND processed_at IS NULL FOR UPDATE`);
    if (!row) return;
    const outcome = await effect(tx);
    if (outcome.kind === "unexpected") {
      log.error({ eventId, outcome: outcome.detail }, "a processor event contradicts our records");
    }
    await tx.query(sql`
      UPDATE processor_events SET processed_at = service_now(), outcome = ${textOf(outcome)} WHERE id = ${eventId}`);
  });
}

const textOf = ({ kind, detail }: EventOutcome) => (kind === "unexpected" ? `unexpected: ${detail}` : detail);

/** Returns stored events that are due and not yet applied, whether or not a job for them still exists. */
export function findUnprocessedEvents({ database }: Services, limit: number): Promise<{ eventId: string }[]> {
  return database.query<{ eventId: string }>(sql`
    SELECT id AS "eventId" FROM processor_events
    WHERE processed_at IS NULL AND next_attempt_at <= service_now() ORDER BY next_attempt_at LIMIT ${limit}`);
}
