import { z } from "zod";
import { Id, listOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { LedgerEntry, ledgerKinds, walletBuckets } from "../../schemas/ledgerEntry.ts";
import { hidden, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

const ListedLedgerEntry = LedgerEntry.extend({
  taskTitle: z.string().nullable().meta({ description: "The title of `taskId` as it is now.", example: null }),
  topupId: Id.nullable().meta({ description: "The top-up that a `topup` credited.", example: null }),
  payoutId: Id.nullable().meta({ description: "The payout that a `payout` is for.", example: null }),
  hasReceipt: z.boolean().meta({
    description: "Whether `POST /exports` makes a receipt of what the entry is for: of a payout, once the bank has it.",
  }),
}).meta({
  id: "ListedLedgerEntry",
  description: "A ledger entry, with the title of its task and what a receipt is asked by.",
});

export const ledger = signedIn
  .meta({
    rest: { method: "GET", path: "/wallet/ledger" },
    summary: "List my ledger entries",
    description:
      "Lists every movement of money into and out of your two buckets, newest first. Entries are never changed or " +
      "deleted, and each bucket is the sum of its entries.",
  })
  .input(
    PageQuery.extend({
      kind: listOf(ledgerKinds, "Entries of one of these kinds; all by default.").optional(),
      bucket: z
        .enum(walletBuckets)
        .meta({ description: "Entries of this bucket; of both by default.", example: "available" })
        .optional(),
    }).meta({ id: "ListLedgerEntries" }),
  )
  .output(
    z.object({ entries: z.array(ListedLedgerEntry).meta({ description: "Newest first." }), nextCursor: NextCursor }),
  )
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<z.infer<typeof ListedLedgerEntry>>(ctx.database, "wallet.ledger", {
      ...input,
      select: sql`
        SELECT e.id, e.user_id AS "userId", e.kind, e.bucket, e.amount_cents AS "amountCents", t.task_id AS "taskId",
               t.bid_id AS "bidId", t.external_ref AS "externalRef", e.created_at AS "createdAt",
               (SELECT title FROM tasks WHERE id = t.task_id) AS "taskTitle",
               CASE e.kind WHEN 'topup' THEN (SELECT id FROM topups WHERE payment_intent_id = t.external_ref) END AS "topupId",
               CASE e.kind WHEN 'payout' THEN (SELECT id FROM payouts WHERE ledger_entry_id = e.id) END AS "payoutId",
               CASE e.kind WHEN 'task_payment' THEN true WHEN 'task_earning' THEN true
                 WHEN 'topup' THEN EXISTS (SELECT FROM topups WHERE payment_intent_id = t.external_ref)
                 WHEN 'payout' THEN EXISTS (SELECT FROM payouts WHERE ledger_entry_id = e.id AND paid_at IS NOT NULL)
                 ELSE false END AS "hasReceipt"
        FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id`,
      where: sql`e.user_id = ${hidden(sql`${ctx.userId}::uuid`)}
        AND ${input.bucket === undefined ? sql`e.bucket IN ('available', 'held')` : sql`e.bucket = ${input.bucket}`}`,
      filter: input.kind === undefined ? undefined : sql`e.kind = ANY (${input.kind}::text[])`,
    });
    return { entries: rows, nextCursor };
  });
