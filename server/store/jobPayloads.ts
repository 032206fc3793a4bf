import { z } from "zod";

/** Every background job and its payload. A job may run twice; the second run must change nothing. */
export const jobPayloads = {
  /** Accepts a delivery when its acceptance window has passed. */
  acceptDelivery: z.strictObject({ taskId: z.uuid() }),
  /** Judges a delivery by the built-in checks of its task. */
  checkDelivery: z.strictObject({ deliveryId: z.uuid() }),
  /** Expires an awarded task that was not delivered in time, and releases the buyer's money. */
  expireTask: z.strictObject({ taskId: z.uuid() }),
  /** Ends a round of changes to which the bidder did not react: the earlier delivery stands again. */
  endRound: z.strictObject({ taskId: z.uuid() }),
  /** Ends an agreement that nobody has answered. */
  lapseAgreement: z.strictObject({ agreementId: z.uuid() }),
  /** Cancels the open tasks of a suspended user, and withdraws their active bids. */
  windDown: z.strictObject({ userId: z.uuid() }),
  /** Applies a stored event of the payment processor. */
  applyProcessorEvent: z.strictObject({ eventId: z.string() }),
  /** Advances a payout by one step. */
  advancePayout: z.strictObject({ payoutId: z.uuid() }),
  /** Audits the whole ledger. Not strict, because the scheduler adds fields of its own. */
  auditLedger: z.object({}),
  /** Deletes events from the log, and for good, that are older than 30 days. */
  pruneEvents: z.object({}),
  /** Deletes webhook deliveries that are older than 30 days, and failed ones 90 days after their last attempt. */
  pruneWebhookDeliveries: z.object({}),
  /** Deletes webhook endpoints that were deleted 30 days ago, and hosts without endpoints. */
  pruneWebhookEndpoints: z.object({}),
  /** Sends a mail with a link to an account, if there is one with this address. It has no token: sending makes one. */
  sendAccountMail: z.strictObject({
    mailId: z.uuid(),
    purpose: z.enum(["reset_password", "verify_email"]),
    email: z.string(),
    requestedAt: z.iso.datetime(),
  }),
  /** Shows a notification in one browser, unless `until` has passed. */
  sendPush: z.strictObject({
    subscriptionId: z.uuid(),
    message: z.strictObject({ id: z.uuid(), title: z.string(), text: z.string(), url: z.string() }),
    until: z.iso.datetime(),
  }),
  /** Puts what is to be mailed to a person at once into mails. */
  mailNews: z.strictObject({ userId: z.uuid() }),
  /** Sends a mail about notifications, if it is still true. */
  sendNotificationMail: z.strictObject({ mailId: z.uuid() }),
  /** Sends the daily mails of some people. */
  sendDigests: z.strictObject({ mailIds: z.array(z.uuid()) }),
  /** Reminds people of deadlines, and finds mails that have lost their jobs. */
  tendMails: z.object({}),
  /** Plans the daily mails of everyone where it is 8 o'clock. */
  planDigests: z.object({}),
  /** Deletes tokens of mails that have expired, sessions and records of OAuth that have ended, and API keys that ended 90 days ago. */
  pruneAccounts: z.object({}),
  /** Deletes events of the payment processor that were applied, and top-ups that were not paid, after 90 days. */
  prunePayments: z.object({}),
  /** Makes a file that somebody has asked for. */
  makeExport: z.strictObject({ exportId: z.uuid() }),
  /** Deletes files of exports, and then their rows, when their time is over. */
  pruneExports: z.object({}),
  /** Deletes jobs that failed for the last time 30 days ago. */
  pruneFailedJobs: z.object({}),
  /** Encrypts second factors anew that an old secret has encrypted. */
  resealFactors: z.object({}),
  /** Deletes the counters of rate limits whose window has ended. */
  pruneRateLimits: z.object({}),
  /** Deletes unfinished uploads and stray objects, part by part: the stage, and the key after which it goes on. */
  sweepUploads: z.object({
    stage: z.enum(["uploads", "samples/", "deliveries/", "briefs/", "messages/"]).optional(),
    after: z.string().optional(),
  }),
} as const;

export type JobName = keyof typeof jobPayloads;
export type JobPayload<Name extends JobName> = z.infer<(typeof jobPayloads)[Name]>;
