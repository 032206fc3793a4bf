import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { bidColumns } from "../../market/bids/records.ts";
import { updateTask } from "../../market/tasks/records.ts";
import { actorOf, assertPriceWithinBudget, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { Bid, bidInput } from "../../schemas/bid.ts";
import { idOf } from "../../schemas/common.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import { activeUser, assertCallerActive } from "../../store/userLock.ts";
import { scoped } from "../../trpc.ts";

/** The database enforces that a bidder has at most one active bid per task. */
export const place = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/bids", status: 201 },
    summary: "Place a bid",
    description:
      "Places a bid on an open task of another user: a price of at most the task's maximum budget, and the hours " +
      "that you need from the award to the delivery. No money moves. You can have one active bid per task; for " +
      "another one the answer is `active_bid_exists`, with the `bidId` of the first.",
    errors: ["price_above_budget", "forbidden", "not_found", "wrong_status", "active_bid_exists"],
  })
  .input(
    z.strictObject({
      id: idOf("task"),
      priceCents: bidInput.priceCents,
      etaHours: bidInput.etaHours,
      notes: bidInput.notes.optional(),
    }),
  )
  .output(z.object({ bid: Bid.meta({ description: "The new bid." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      // Refused after it is written, which undoes it: to ask for the task first would take a tenth more processor time.
      const [task, [bid]] = await Promise.all([
        updateTask(tx, input.id, sql`bid_count = bid_count + 1`),
        tx.query<Bid>(sql`
          WITH caller AS (${activeUser(ctx.userId)}), b AS (
            INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes)
            SELECT ${input.id}::uuid, caller.id, ${input.priceCents}, ${input.etaHours}, ${input.notes ?? null}
            FROM caller JOIN tasks ON tasks.id = ${input.id}::uuid
            ON CONFLICT (task_id, bidder_id) WHERE status = 'active' DO NOTHING
            RETURNING *)
          SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id`),
      ]);
      assertTaskAction("placeBid", task, actorOf(task, ctx.userId), momentOf(ctx));
      assertPriceWithinBudget(task, input.priceCents);
      if (!bid) {
        await assertCallerActive(tx, ctx.userId);
        throw await activeBidExists(tx, task.id, ctx.userId);
      }
      tx.events.record("bid.received", { task, bid }, [task.buyerId]);
      return { bid };
    }),
  );

async function activeBidExists(connection: Connection, taskId: string, bidderId: string): Promise<ApiError> {
  const { bidId } = await queryOne<{ bidId: string }>(
    connection,
    sql`
      SELECT id AS "bidId" FROM bids
      WHERE task_id = ${taskId}::uuid AND bidder_id = ${bidderId}::uuid AND status = 'active'`,
  );
  return new ApiError("active_bid_exists", { bidId });
}
