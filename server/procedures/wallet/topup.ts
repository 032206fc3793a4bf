import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { openCheckout, recordCheckout, recordTopup } from "../../market/topups/checkout.ts";
import { missingFor } from "../../market/topups/forTask.ts";
import { Currency } from "../../schemas/common.ts";
import { CreateTask } from "../../schemas/task.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

/**
 * The top-up's row is stored first, and its id serves as reference and idempotency key, so that every later event
 * finds its top-up.
 */
export const topup = sessionOnly
  .meta({
    rest: { method: "POST", path: "/wallet/topup" },
    summary: "Top up my wallet",
    description:
      "Opens a checkout page of the payment processor: send the browser to `checkoutUrl`. The wallet is credited " +
      "when the processor reports the payment, usually within seconds of it; until then no money has moved. Only a " +
      "browser session can top up; agents spend what a person has paid in. With `forTask` in place of `amountCents`, what the wallet " +
      "lacks for a task is charged (500 cents at least), and the task is posted when it is paid: `topup.credited` has its `taskId`, or " +
      "`notPostedBecause`, and then the money stays available.",
    errors: ["not_needed", "processor_unavailable"],
    hasNoDryRun: true,
  })
  .input(
    z
      .strictObject({
        amountCents: z
          .int()
          .min(500)
          .max(100_000)
          .meta({ description: "What the wallet is credited, in integer cents.", example: 5_000 })
          .optional(),
        forTask: CreateTask.meta({
          id: "TaskToPost",
          description: "In place of `amountCents`: a task, which is posted once what the wallet lacks for it is paid.",
        }).optional(),
      })
      .meta({ id: "TopUpWallet" }),
  )
  .output(
    z.object({
      checkoutUrl: z.string().meta({
        description: "Redirect the browser here.",
        format: "uri",
        example: "https://checkout.example.com/c/pay/cs_test_1",
      }),
      sessionId: z.string().meta({
        description: "The checkout's id at the payment processor; `topup.credited` events have it.",
        example: "cs_test_1",
      }),
    }),
  )
  .mutation(async ({ ctx, input }) => {
    const { publicUrl } = ctx.settings;
    const { forTask = null } = input;
    if ((input.amountCents === undefined) === (forTask === null)) {
      const message = "Send exactly one of amountCents and forTask.";
      throw new ApiError("invalid_input", { issues: [{ path: "amountCents", message }] });
    }
    const topupId = await ctx.claim(async (claim) => {
      const parameters = {
        id: claim.id,
        userId: ctx.userId,
        amountCents: forTask === null ? (input.amountCents ?? 0) : await missingFor(ctx, forTask),
        forTask,
        currency: Currency,
        successUrl: `${publicUrl}/topup/done`,
        cancelUrl: `${publicUrl}/topup/cancelled`,
      };
      const topup = await ctx.database.transaction((tx) => recordTopup(tx, parameters, ctx.clock.now()));
      const session = await openCheckout(ctx, topup);
      if (session.url === null) throw new ApiError("processor_unavailable");
      return claim.change(async (tx) => {
        await recordCheckout(tx, ctx, topup, session);
        return topup.id;
      });
    });
    return queryOne<{ checkoutUrl: string; sessionId: string }>(
      ctx.database,
      sql`SELECT checkout_url AS "checkoutUrl", session_id AS "sessionId" FROM topups WHERE id = ${topupId}::uuid`,
    );
  });
