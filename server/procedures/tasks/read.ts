import { z } from "zod";
import { mayModerate } from "../../auth/principal.ts";
import { readAvailableActions } from "../../market/actions/availableActions.ts";
import { readBidsForDetail } from "../../market/bids/records.ts";
import { findDisputeOfTask } from "../../market/disputes/records.ts";
import { readRatings } from "../../market/ratings.ts";
import { findTask } from "../../market/tasks/records.ts";
import { momentOf } from "../../market/tasks/rules.ts";
import { readArtifacts } from "../../market/uploads/artifacts.ts";
import { Delivery, Sample } from "../../schemas/artifact.ts";
import { Id } from "../../schemas/common.ts";
import { Dispute } from "../../schemas/dispute.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import { Rating } from "../../schemas/rating.ts";
import { Task, TaskListItem } from "../../schemas/task.ts";
import { TaskOperation } from "../../schemas/taskOperation.ts";
import { open } from "../../trpc.ts";

const PublicTask = TaskListItem.extend({ description: z.string() }).meta({ id: "PublicTask" });

/**
 * Returns the parts of a task that the caller may see. Anonymous callers get the public fields; signed-in callers all
 * fields and their own bids; the buyer up to 100 bids. The two parties, and a moderator's session if there is a
 * dispute, also get samples, deliveries, dispute and ratings. What a signed-in caller gets is from one snapshot. Source: docs/contract.md "Records".
 */
export const read = open
  .meta({
    rest: { method: "GET", path: "/tasks/{id}" },
    summary: "Read a task",
    rateGroup: "publicRead",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id }))
  .output(
    z.object({
      task: z.union([Task, PublicTask]),
      availableActions: z
        .array(TaskOperation)
        .optional()
        .meta({
          description:
            "For signed-in callers: the operations of typed RPC that you could do now to this task, or to your own bid on it, " +
            "with these credentials. None of them is refused for your role, scopes or the status; all others are.",
        }),
      bids: z.array(BidExcerpt).optional(),
      samples: z.array(Sample).optional(),
      deliveries: z.array(Delivery).optional(),
      dispute: Dispute.optional(),
      ratings: z.array(Rating).optional(),
    }),
  )
  .query(async ({ ctx, input }) => {
    const { principal, database, storage, settings } = ctx;
    if (principal === null) return { task: PublicTask.parse(await findTask(database, input.id)) };

    return database.snapshot(async (snapshot) => {
      const task = await findTask(snapshot, input.id);
      const { userId } = principal;
      const availableActions = await readAvailableActions(snapshot, task, { principal, settings }, momentOf(ctx));
      const bids = await readBidsForDetail(snapshot, task, userId);
      const isParty = task.buyerId === userId || task.awardedBidderId === userId;
      const isModerator = mayModerate(principal, settings);
      if (!isParty && !isModerator) return { task, availableActions, bids };

      const dispute = await findDisputeOfTask(snapshot, task.id);
      if (!isParty && dispute === null) return { task, availableActions, bids };

      const ratings = await readRatings(snapshot, task.id);
      const artifacts = await readArtifacts({ database: snapshot, storage }, task.id);
      return { task, availableActions, bids, ...artifacts, ...(dispute && { dispute }), ratings };
    });
  });
