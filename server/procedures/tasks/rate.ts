import { z } from "zod";
import { addRating } from "../../market/ratings.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { Rating, ratingInput } from "../../schemas/rating.ts";
import { refuseDuplicate } from "../../store/databaseErrors.ts";
import { scoped } from "../../trpc.ts";

/** The database enforces that each side rates once. */
export const rate = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/rate", status: 201 },
    summary: "Rate the other side",
    description:
      "Rates the other side of a finished task, once it is `accepted` or `resolved`: the bidder if you are the " +
      "buyer, the buyer if you are the awarded bidder. Each side rates once, and a rating cannot be changed; a " +
      "second one is `already_rated`. Ratings count towards the other side's reputation.",
    errors: ["forbidden", "not_found", "wrong_status", "already_rated"],
  })
  .input(z.strictObject({ id: idOf("task"), stars: ratingInput.stars, comment: ratingInput.comment.optional() }))
  .output(z.object({ rating: Rating.meta({ description: "Your rating." }) }))
  .mutation(({ ctx, input }) =>
    ctx
      .change(async (tx) => {
        const task = await lockTask(tx, input.id);
        assertTaskAction("rate", task, actorOf(task, ctx.userId), momentOf(ctx));
        const { stars, comment } = input;
        const rating = await addRating(tx, task, ctx.userId, { stars, comment: comment || null });
        tx.events.record("rating.posted", { task, rating }, [rating.raterId, rating.rateeId]);
        return { rating };
      })
      .catch(refuseDuplicate("ratings_once_key", "already_rated")),
  );
