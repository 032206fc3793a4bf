import { z } from "zod";
import { countSpending } from "../../auth/spendLimit.ts";
import { ApiError } from "../../errors.ts";
import { findPayoutAccount, syncPayoutAccount } from "../../market/payouts/accounts.ts";
import { Currency, Id, MAX_INT32 } from "../../schemas/common.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { refuseOverdraft } from "../../store/ledger.ts";
import { type CallerContext, scoped } from "../../trpc.ts";

/** Requests a payout: debits the wallet at once, and leaves the transfer and the payout to the bank to jobs. */
export const create = scoped("payouts:write")
  .meta({
    rest: { method: "POST", path: "/payouts", status: 202 },
    summary: "Request a payout",
    errors: [
      "insufficient_funds",
      "spend_limit",
      "onboarding_required",
      "onboarding_incomplete",
      "processor_unavailable",
    ],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ amountCents: z.int().min(1000).max(MAX_INT32).meta({ description: "Integer cents." }) }))
  .output(
    z.object({
      pendingLedgerId: Id.meta({ description: "The ledger entry that debited the wallet." }),
      status: z.literal("pending"),
    }),
  )
  .mutation(({ ctx, input: { amountCents } }) =>
    ctx.claim(async () => {
      const accountId = await requireActiveAccount(ctx);
      const now = ctx.clock.now().toISOString();
      return ctx
        .change(async (tx) => {
          const payout = await queryOne<{ id: string }>(tx, sql`SELECT uuid_v7() AS id`);
          await countSpending(tx, ctx, amountCents);
          const pendingLedgerId = await tx.ledger.withdraw(ctx.userId, amountCents, `payout:${payout.id}`);
          if (pendingLedgerId === null) throw new Error(`payout ${payout.id} was already booked`);
          await tx.query(sql`
            INSERT INTO payouts (id, user_id, account_id, amount_cents, currency, ledger_entry_id, next_step_at)
            VALUES (${payout.id}::uuid, ${ctx.userId}::uuid, ${accountId}, ${amountCents}, ${Currency},
                    ${pendingLedgerId}::uuid, ${now}::timestamptz)`);
          await tx.jobs.add("advancePayout", { payoutId: payout.id });
          return { pendingLedgerId, status: "pending" as const };
        })
        .catch(refuseOverdraft(ctx, "insufficient_funds"));
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
