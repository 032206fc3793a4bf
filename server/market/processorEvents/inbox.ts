import { ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import type { ProcessorEvent } from "../../gateways/processorRecords.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Database, Transaction } from "../../store/database.ts";

/** Stores an event and adds the job that applies it. A repeated event changes nothing. */
export async function storeProcessorEvent(tx: Transaction, event: ProcessorEvent): Promise<void> {
  const [added] = await tx.query(sql`
    INSERT INTO processor_events (id, type, payload)
    VALUES (${event.id}, ${event.type}, ${JSON.stringify(event)}::jsonb)
    ON CONFLICT (id) DO NOTHING RETURNING id`);
  if (added) tx.jobs.add("applyProcessorEvent", { eventId: event.id });
}

/**
 * Events about money on the platform's balance. Payouts are polled one by one instead, and an account's state is
 * fetched when a payout needs it.
 */
export const missedEventTypes = [
  "checkout.session.completed",
  "checkout.session.async_payment_succeeded",
  "checkout.session.async_payment_failed",
  "checkout.session.expired",
  "refund.created",
  "refund.updated",
  "refund.failed",
  "charge.dispute.created",
  "charge.dispute.funds_withdrawn",
  "charge.dispute.funds_reinstated",
  "charge.dispute.closed",
  "transfer.reversed",
];

/** The processor's clock may differ from ours, and its list may lag a little. */
const OVERLAP_SECONDS = 300;

/**
 * Events stored at a time, the size of the processor's pages. After a long outage, all missed events may not fit in
 * memory.
 */
const BATCH = 100;

/** Stores the events that are not yet known. A crash loses nothing: the next read starts where this one did. */
async function storeMissed(database: Database, events: ProcessorEvent[]): Promise<void> {
  const known = await database.query<{ id: string }>(sql`
    SELECT id FROM processor_events WHERE id = ANY (${events.map(({ id }) => id)}::text[])`);
  const knownIds = new Set(known.map(({ id }) => id));
  for (const event of events.filter(({ id }) => !knownIds.has(id))) {
    await database.transaction((tx) => storeProcessorEvent(tx, event));
  }
}

/**
 * Reads events that never arrived from the processor's list, which keeps them for 30 days, and stores them as if they
 * had. One process at a time does this, twice per polling interval.
 */
export async function readMissedEvents({ database, processor, clock, settings, log }: Services): Promise<void> {
  const now = clock.now();
  const nextReadAt = new Date(now.getTime() + settings.processorPollSeconds * 500).toISOString();
  const [due] = await database.query<{ readUntil: string }>(sql`
    UPDATE processor_event_reads SET next_read_at = ${nextReadAt}::timestamptz
    WHERE next_read_at <= ${now.toISOString()}::timestamptz RETURNING read_until AS "readUntil"`);
  if (!due) return;
  try {
    const since = Math.floor(Date.parse(due.readUntil) / 1000) - OVERLAP_SECONDS;
    let page: ProcessorEvent[] = [];
    for await (const event of processor.listEvents(missedEventTypes, since)) {
      page.push(event);
      if (page.length < BATCH) continue;
      await storeMissed(database, page);
      page = [];
    }
    await storeMissed(database, page);
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable)) throw error;
    log.warn({ error }, "the processor's list of events could not be read; trying again later");
    return;
  }
  await database.query(sql`
    UPDATE processor_event_reads SET read_until = greatest(read_until, ${now.toISOString()}::timestamptz)`);
}
