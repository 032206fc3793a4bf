import { z } from "zod";
import { Cents, Timestamp } from "./common.ts";

const count = (description: string, example = 0) => z.int().min(0).meta({ description, example });

const AuditCheck = z
  .object({
    name: z.string().meta({ description: "What should hold.", example: "wallets equal the sums of their entries" }),
    count: count("The number of discrepancies."),
  })
  .meta({ id: "AuditCheck", description: "One check of an audit." });

const Discrepancy = z
  .object({
    check: z
      .string()
      .meta({ description: "The check that found it.", example: "wallets equal the sums of their entries" }),
    subject: z.string().meta({ description: "The record with the wrong value.", example: "wallet of a user" }),
    expected: z.string().meta({ description: "What it should be; amounts in cents.", example: "1200" }),
    actual: z.string().meta({ description: "What it is; amounts in cents.", example: "1300" }),
  })
  .meta({ id: "Discrepancy", description: "Two values that should agree and do not." });

const Audit = z
  .object({
    finishedAt: Timestamp.meta({ description: "When it ended." }),
    checks: z.array(AuditCheck).meta({ description: "Every check that ran." }),
    notCompared: z.string().nullable().meta({
      description: "Why the ledger could not be compared with the payment processor; null if it was.",
      example: null,
    }),
    discrepancies: z.array(Discrepancy).meta({ description: "At most 20 of each check." }),
    count: count("The number of all discrepancies, listed or not."),
  })
  .meta({ id: "Audit", description: "The result of an audit of the ledger." });

const UnfinishedPayouts = z
  .object({
    state: z.string().meta({ description: "The internal state.", example: "transferred" }),
    count: count("How many there are."),
    oldestSeconds: z
      .number()
      .min(0)
      .meta({ description: "Age in seconds of the oldest one; 0 when there is none.", example: 0 }),
  })
  .meta({ id: "UnfinishedPayouts", description: "The payouts in one state." });

const Waiting = z
  .object({
    jobs: count("Jobs that are due and that no worker has taken yet."),
    failedJobs: count("Jobs that have failed as often as they may."),
    processorEvents: count("Events of the payment processor that are not applied yet."),
    payouts: count("Payouts whose next step is due."),
  })
  .meta({ id: "Waiting", description: "What waits to be done; normally close to 0." });

const DeliveryBacklog = z
  .object({
    pending: count("Deliveries that are not sent yet, counted up to 10,000."),
    oldestDueAt: Timestamp.nullable().meta({
      description: "When the oldest due delivery became due; null if none is.",
      example: null,
    }),
  })
  .meta({ id: "DeliveryBacklog", description: "Deliveries to webhooks." });

const FeeMonth = z
  .object({
    month: z.string().meta({ description: "In the time zone of the service's operator.", example: "2026-11" }),
    earnedCents: Cents.meta({ description: "The fees that were taken, in integer cents.", example: 12_500 }),
    withdrawnCents: Cents.meta({ description: "What was withdrawn of them, in integer cents.", example: 10_000 }),
  })
  .meta({ id: "FeeMonth", description: "The platform's fees in a month." });

const FeeWithdrawal = z
  .object({
    reference: z.string().meta({ description: "What the operator called it.", example: "payout-2026-11" }),
    amountCents: Cents.meta({ description: "Integer cents.", example: 10_000 }),
    createdAt: Timestamp.meta({ description: "When it was booked." }),
  })
  .meta({ id: "FeeWithdrawal", description: "What left the platform's money." });

export const FeeFigures = z
  .object({
    platformCents: Cents.meta({ description: "What was earned and not withdrawn, in integer cents.", example: 2_500 }),
    months: z.array(FeeMonth).meta({ description: "The newest twelve in which money moved, newest first." }),
    withdrawals: z.array(FeeWithdrawal).meta({ description: "The newest twenty, newest first." }),
  })
  .meta({ id: "FeeFigures", description: "What the platform has earned." });
export type FeeFigures = z.infer<typeof FeeFigures>;

/** How the service itself is doing, for moderators. */
export const Operations = z
  .object({
    audit: Audit.nullable().meta({ description: "The last audit of the ledger; null before the first." }),
    unfinishedPayouts: z
      .array(UnfinishedPayouts)
      .meta({ description: "The payouts that are neither paid nor failed, by their internal state, in order." }),
    waiting: Waiting,
    deliveries: DeliveryBacklog,
    fees: FeeFigures.optional().meta({ description: "Absent while the platform has never had a fee." }),
  })
  .meta({ id: "Operations", description: "How the service itself is doing." });
