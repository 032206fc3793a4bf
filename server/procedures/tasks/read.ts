import { z } from "zod";
import { mayModerate } from "../../auth/principal.ts";
import { readBidsForDetail } from "../../market/bids/records.ts";
import { findDisputeOfTask } from "../../market/disputes/records.ts";
import { readRatings } from "../../market/ratings.ts";
import { findTask } from "../../market/tasks/records.ts";
import { readArtifacts } from "../../market/uploads/artifacts.ts";
import { Delivery, Sample } from "../../schemas/artifact.ts";
import { Id } from "../../schemas/common.ts";
import { Dispute } from "../../schemas/dispute.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import { Rating } from "../../schemas/rating.ts";
import { Task, TaskListItem } from "../../schemas/task.ts";
import { open } from "../../trpc.ts";

const PublicTask = TaskListItem.extend({ description: z.string() }).meta({ id: "PublicTask" });

/**
 * Returns the parts of a task that the caller may see. Anonymous callers get the public fields; signed-in callers all
 * fields and their own bids; the buyer up to 100 bids. The two parties, and a moderator's session if there is a
 * dispute, also get samples, deliveries, dispute and ratings. Source: docs/contract.md "Records".
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
      bids: z.array(BidExcerpt).optional(),
      samples: z.array(Sample).optional(),
      deliveries: z.array(Delivery).optional(),
      dispute: Dispute.optional(),
      ratings: z.array(Rating).optional(),
    }),
  )
  .query(async ({ ctx, input }) => {
    const task = await findTask(ctx.database, input.id);
    const { principal } = ctx;
    if (principal === null) return { task: PublicTask.parse(task) };

    const { userId } = principal;
    const bids = await readBidsForDetail(ctx.database, task, userId);
    const isParty = task.buyerId === userId || task.awardedBidderId === userId;
    const isModerator = mayModerate(principal, ctx.settings);
    if (!isParty && !isModerator) return { task, bids };

    const dispute = await findDisputeOfTask(ctx.database, task.id);
    if (!isParty && dispute === null) return { task, bids };

    const ratings = await readRatings(ctx.database, task.id);
    return { task, bids, ...(await readArtifacts(ctx, task.id)), ...(dispute && { dispute }), ratings };
  });
