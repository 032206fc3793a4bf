import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { lockTask, ratingColumns } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { Id } from "../../schemas/common.ts";
import { Rating, ratingInput } from "../../schemas/rating.ts";
import { sql } from "../../store/connection.ts";
import { violatedUniqueConstraint } from "../../store/databaseErrors.ts";
import { scoped } from "../../trpc.ts";

/** Rates the other side of a finished task, once; the database keeps that rule. */
export const rate = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/rate", status: 201 },
    summary: "Rate the other side",
    errors: ["forbidden", "not_found", "wrong_status", "already_rated"],
  })
  .input(z.strictObject({ id: Id, stars: ratingInput.stars, comment: ratingInput.comment.optional() }))
  .output(z.object({ rating: Rating }))
  .mutation(({ ctx, input }) =>
    ctx.database
      .transaction(async (tx) => {
        const task = await lockTask(tx, input.id);
        assertTaskAction("rate", task, actorOf(task, ctx.userId), momentOf(ctx));
        const isBuyer = task.buyerId === ctx.userId;
        const [rating] = await tx.query<Rating>(sql`
          INSERT INTO ratings AS r (task_id, rater_id, ratee_id, role, stars, comment)
          VALUES (${task.id}::uuid, ${ctx.userId}::uuid, ${isBuyer ? task.awardedBidderId : task.buyerId}::uuid,
                  ${isBuyer ? "bidder" : "buyer"}, ${input.stars}, ${input.comment || null})
          RETURNING ${ratingColumns}`);
        if (!rating) throw new Error("INSERT … RETURNING gave no row");
        return { rating };
      })
      .catch((error: unknown) => {
        throw violatedUniqueConstraint(error) === "ratings_once_key" ? new ApiError("already_rated") : error;
      }),
  );
