import { z } from "zod";

/** The schemas of input and output, as plain zod. */
const id = z.uuid();

export const TaskListItem = z.object({
  id,
  title: z.string(),
  maxBudgetCents: z.number().int(),
  tags: z.array(z.string()),
  status: z.string(),
  createdAt: z.date(),
  bidCount: z.number().int(),
});

const Person = z.object({ id, displayName: z.string() });

export const Task = TaskListItem.extend({
  description: z.string(),
  acceptanceCriteria: z.string().nullable(),
  buyer: Person,
  awardedBidId: id.nullable(),
  awardedAt: z.date().nullable(),
  deliveryDueAt: z.date().nullable(),
  deliveredAt: z.date().nullable(),
  acceptanceDeadlineAt: z.date().nullable(),
  revisions: z.number().int(),
  revisionsUsed: z.number().int(),
  checks: z.unknown(),
  acceptOnChecks: z.object({ afterMinutes: z.number().int() }).nullable(),
  acceptedAt: z.date().nullable(),
  closedAt: z.date().nullable(),
  closedBecause: z.string().nullable(),
  updatedAt: z.date(),
});

/** A task as its two sides see it. No load asks for changes. */
export const OwnTask = Task.extend({
  changes: z.null(),
  acceptsAt: z.date().nullable(),
  acceptedBy: z.string().nullable(),
});

export const File = z.object({ id, fileName: z.string().nullable(), mimeType: z.string(), bytes: z.number().int() });

export const Bid = z.object({
  id,
  taskId: id,
  bidder: Person,
  priceCents: z.number().int(),
  etaHours: z.number(),
  notes: z.string().nullable(),
  status: z.string(),
  createdAt: z.date(),
  updatedAt: z.date(),
  taskEditedAt: z.date().nullable(),
});

export const Entry = z.object({
  id,
  userId: id.nullable(),
  kind: z.string(),
  bucket: z.string(),
  amountCents: z.number().int(),
  taskId: id.nullable(),
  bidId: id.nullable(),
  externalRef: z.string().nullable(),
  createdAt: z.date(),
  taskTitle: z.string().nullable(),
  topupId: id.nullable(),
  payoutId: id.nullable(),
  hasReceipt: z.boolean(),
});

export const Page = z.object({
  cursor: z.iso.datetime().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

export const NewTask = z.object({
  title: z.string().trim().min(1).max(200),
  description: z.string().min(1).max(20_000),
  acceptanceCriteria: z.string().max(10_000).optional(),
  maxBudgetCents: z.number().int().positive(),
  tags: z.array(z.string().trim().min(1).max(40)).max(20),
});

export const NewBid = z.object({
  id,
  priceCents: z.number().int().positive(),
  etaHours: z.number().positive(),
  notes: z.string().max(5_000).optional(),
});

/** What Prisma selects for each record. */
export const listItemFields = {
  ...{ id: true, title: true, maxBudgetCents: true, tags: true, status: true, createdAt: true, bidCount: true },
} as const;

const person = { select: { id: true, displayName: true } } as const;

export const taskFields = {
  ...listItemFields,
  ...{ description: true, acceptanceCriteria: true, buyer: person, awardedBidId: true, awardedAt: true },
  ...{ deliveryDueAt: true, deliveredAt: true, acceptanceDeadlineAt: true, acceptedAt: true, closedAt: true },
  ...{
    revisions: true,
    revisionsUsed: true,
    checks: true,
    acceptAfterMinutes: true,
    acceptsAt: true,
    acceptedBy: true,
  },
  ...{ closedBecause: true, updatedAt: true },
} as const;

export const fileFields = {
  ...{ id: true, upload: { select: { fileName: true, mimeType: true, bytes: true } } },
} as const;

export const bidFields = {
  ...{ id: true, taskId: true, bidder: person, priceCents: true, etaHours: true, notes: true, status: true },
  ...{ createdAt: true, updatedAt: true },
} as const;

/** As the API shows a task. */
export const toTask = <Row extends { acceptAfterMinutes: number | null }>({ acceptAfterMinutes, ...task }: Row) => ({
  ...task,
  changes: null,
  acceptOnChecks: acceptAfterMinutes === null ? null : { afterMinutes: acceptAfterMinutes },
});

/** Decimals and what the tables do not have. */
export const toBid = <Row extends { etaHours: { toNumber(): number } }>(bid: Row) => ({
  ...bid,
  etaHours: bid.etaHours.toNumber(),
  taskEditedAt: null,
});
