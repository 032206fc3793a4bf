import { z } from "zod";
import { moveBid } from "../../market/bids/records.ts";
import { assertBidAction, bidActorOf } from "../../market/bids/rules.ts";
import { bidShownTo, frozenFor } from "../../market/fees/ofBid.ts";
import { keepSchedule } from "../../market/fees/schedules.ts";
import { lockBid } from "../../market/tasks/lockBid.ts";
import { assertPriceWithinBudget } from "../../market/tasks/rules.ts";
import { Bid, bidInput } from "../../schemas/bid.ts";
import { idOf } from "../../schemas/common.ts";
import { join, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { scoped } from "../../trpc.ts";

export const update = scoped("bid:write")
  .meta({
    rest: { method: "PATCH", path: "/bids/{id}" },
    summary: "Change a bid",
    description:
      "Changes an active bid of yours: only the fields that you send. The price is checked against the task's " +
      "current maximum budget, and a new one has the fee of now. The buyer sees the new price before awarding, and a client that sends " +
      "`expectedPriceCents` is never surprised by it.",
    errors: ["price_above_budget", "forbidden", "not_found", "wrong_status"],
  })
  .input(
    z
      .strictObject({
        id: idOf("bid"),
        priceCents: bidInput.priceCents.optional(),
        etaHours: bidInput.etaHours.optional(),
        notes: bidInput.notes.optional(),
      })
      .refine(({ id: _, ...changes }) => Object.values(changes).some((value) => value !== undefined), {
        message: "Name at least one field to change.",
      }),
  )
  .output(z.object({ bid: Bid.meta({ description: "The bid, changed." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { task, bid } = await lockBid(tx, input.id);
      const actor = bidActorOf(bid, ctx.userId);
      assertBidAction("update", bid, actor);
      if (input.priceCents !== undefined) assertPriceWithinBudget(task, input.priceCents);
      const changes = [
        input.priceCents === undefined ? null : await pricing(tx, bid, input.priceCents),
        input.etaHours === undefined ? null : sql`eta_hours = ${input.etaHours}`,
        input.notes === undefined ? null : sql`notes = ${input.notes}`,
      ].filter((change) => change !== null);
      const updated = await moveBid(tx, "update", bid, { actor, changes: join(changes) });
      tx.events.record("bid.updated", { task, bid: updated }, [task.buyerId, bid.bidder.id]);
      return { bid: bidShownTo(ctx.userId, updated) };
    }),
  );

/** The assignments for a price: another one freezes the fee of now, the same one keeps what was frozen. */
async function pricing(tx: Transaction, bid: Bid, priceCents: number): Promise<Sql> {
  if (priceCents === bid.priceCents) return sql`price_cents = ${priceCents}`;
  const { at, id, cents } = frozenFor(priceCents, await keepSchedule(tx));
  return sql`price_cents = ${priceCents}, priced_at = ${at}, fee_schedule_id = ${id}, fee_cents = ${cents}`;
}
