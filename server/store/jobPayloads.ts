import { z } from "zod";

/** Every background job: its name and the payload that it takes. A job may run twice and must then change nothing. */
export const jobPayloads = {
  /** Accepts a delivery whose acceptance window has passed. */
  acceptDelivery: z.strictObject({ taskId: z.uuid() }),
  /** Returns the money of an awarded task whose time for the delivery has passed. */
  expireTask: z.strictObject({ taskId: z.uuid() }),
  /** Does what a stored event of the payment processor says. */
  applyProcessorEvent: z.strictObject({ eventId: z.string() }),
  /** Takes a payout one step further. */
  advancePayout: z.strictObject({ payoutId: z.uuid() }),
  /** Checks the whole ledger; the schedule adds fields of its own. */
  auditLedger: z.object({}),
  /** Deletes webhook deliveries that are older than 30 days. */
  pruneWebhookDeliveries: z.object({}),
} as const;

export type JobName = keyof typeof jobPayloads;
export type JobPayload<Name extends JobName> = z.infer<(typeof jobPayloads)[Name]>;
