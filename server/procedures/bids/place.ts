import { z } from "zod";
import { bidColumns } from "../../market/bids/records.ts";
import { lockTask, updateTask } from "../../market/tasks/records.ts";
import { actorOf, assertPriceWithinBudget, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { Bid, bidInput } from "../../schemas/bid.ts";
import { Id } from "../../schemas/common.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { refuseDuplicate } from "../../store/databaseErrors.ts";
import { scoped } from "../../trpc.ts";

/** Places a bid on an open task. A bidder has at most one active bid per task; the database enforces that. */
export const place = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/bids", status: 201 },
    summary: "Place a bid",
    errors: ["price_above_budget", "forbidden", "not_found", "wrong_status", "active_bid_exists"],
  })
  .input(
    z.strictObject({
      id: Id,
      priceCents: bidInput.priceCents,
      etaHours: bidInput.etaHours,
      notes: bidInput.notes.optional(),
    }),
  )
  .output(z.object({ bid: Bid }))
  .mutation(({ ctx, input }) =>
    ctx.database
      .transaction(async (tx) => {
        const task = await lockTask(tx, input.id);
        assertTaskAction("placeBid", task, actorOf(task, ctx.userId), momentOf(ctx));
        assertPriceWithinBudget(task, input.priceCents);
        const bid = await queryOne<Bid>(
          tx,
          sql`
          WITH b AS (
            INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes)
            VALUES (${task.id}::uuid, ${ctx.userId}::uuid, ${input.priceCents}, ${input.etaHours}, ${input.notes ?? null})
            RETURNING *)
          SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id`,
        );
        const counted = await updateTask(tx, task.id, sql`bid_count = bid_count + 1`);
        await tx.events.record("bid.received", { task: counted, bid });
        return { bid };
      })
      .catch(refuseDuplicate("bids_one_active_key", "active_bid_exists")),
  );
