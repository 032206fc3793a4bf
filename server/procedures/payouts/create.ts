import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { countSpending } from "../../auth/spendLimit.ts";
import { ApiError } from "../../errors.ts";
import { findPayoutAccount, syncPayoutAccount } from "../../market/payouts/accounts.ts";
import { recordPayoutUpdated } from "../../market/payouts/publicRecord.ts";
import { Currency, idOf, MAX_INT32 } from "../../schemas/common.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { refuseOverdraft } from "../../store/ledger.ts";
import { needsReconciliation } from "../../store/reconciliation.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

/** When to ask again while payouts are paused. */
const PAUSE_SECONDS = 60;

export const create = scoped("payouts:write")
  .meta({
    rest: { method: "POST", path: "/payouts", status: 202 },
    summary: "Request a payout",
    description:
      "Requests a payout to your bank account. The amount leaves your available money at once, as the ledger entry " +
      "`pendingLedgerId`; the transfer to the bank follows in the background, and `GET /payouts` shows its " +
      "progress. A payout that fails for good is credited back. Send an `Idempotency-Key`, so that a repeat after a " +
      "lost response does not pay out twice.",
    errors: [
      "insufficient_funds",
      "spend_limit",
      "onboarding_required",
      "onboarding_incomplete",
      "processor_unavailable",
      ...approvalErrors,
    ],
    hasNoDryRun: true,
  })
  .input(
    z.strictObject({
      amountCents: z
        .int()
        .min(1000)
        .max(MAX_INT32)
        .meta({ description: "What the bank account receives, in integer cents.", example: 8_500 }),
    }),
  )
  .output(
    z.object({
      pendingLedgerId: idOf("ledger entry", "The ledger entry that debited the wallet."),
      status: z.literal("pending").meta({ description: "The payout is being prepared." }),
    }),
  )
  .mutation(({ ctx, input: { amountCents } }) =>
    ctx.claim(async ({ change }) => {
      const accountId = await requireActiveAccount(ctx);
      const now = ctx.clock.now().toISOString();
      return change(async (tx) => {
        const payout = await queryOne<{ id: string; paused: boolean }>(
          tx,
          sql`SELECT uuid_v7() AS id, ${needsReconciliation} AS paused`,
        );
        // After a restore, a wallet may have money that was paid out already.
        if (payout.paused) throw new ApiError("unavailable", { retryAfterSeconds: PAUSE_SECONDS });
        await countSpending(tx, ctx, amountCents, mustBeApproved(tx, ctx, { amountCents }));
        const pendingLedgerId = await tx.ledger.withdraw(ctx.userId, amountCents, `payout:${payout.id}`);
        if (pendingLedgerId === null) throw new Error(`payout ${payout.id} was already booked`);
        await tx.query(sql`
            INSERT INTO payouts (id, user_id, account_id, amount_cents, currency, ledger_entry_id, next_step_at)
            VALUES (${payout.id}::uuid, ${ctx.userId}::uuid, ${accountId}, ${amountCents}, ${Currency},
                    ${pendingLedgerId}::uuid, ${now}::timestamptz)`);
        await recordPayoutUpdated(tx, payout.id, ctx.userId);
        tx.jobs.add("advancePayout", { payoutId: payout.id });
        return { pendingLedgerId, status: "pending" as const };
      }).catch(refuseOverdraft(ctx, "insufficient_funds"));
    }),
  );

async function requireActiveAccount(ctx: CallerContext): Promise<string> {
  const account = await findPayoutAccount(ctx.database, ctx.userId);
  const accountId = account?.accountId;
  if (!accountId) throw new ApiError("onboarding_required");
  // The event that the account has become active may not have arrived yet: ask before refusing.
  const active = account.active || (await syncPayoutAccount(ctx, accountId))?.active;
  if (!active) throw new ApiError("onboarding_incomplete");
  return accountId;
}
