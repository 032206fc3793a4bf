import { z } from "zod";
import { mayModerate } from "../../auth/principal.ts";
import { availableActionsOf } from "../../market/actions/availableActions.ts";
import { type Detail, readDetail } from "../../market/actions/detail.ts";
import { hasLapsed } from "../../market/agreements/rules.ts";
import { checksWithKeys } from "../../market/checks/keys.ts";
import { findDisputeOfTask } from "../../market/disputes/records.ts";
import { readRatings } from "../../market/ratings.ts";
import { findPending } from "../../market/tasks/agreements.ts";
import { findTask, type TaskRecord } from "../../market/tasks/records.ts";
import { momentOf, taskAt } from "../../market/tasks/rules.ts";
import { readArtifacts } from "../../market/uploads/artifacts.ts";
import { toBriefFile } from "../../market/uploads/brief.ts";
import { Agreement } from "../../schemas/agreement.ts";
import { Delivery, Sample } from "../../schemas/artifact.ts";
import { idOf } from "../../schemas/common.ts";
import { Dispute } from "../../schemas/dispute.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import { BriefFile } from "../../schemas/file.ts";
import { Rating } from "../../schemas/rating.ts";
import { PublicTask, TaskDetail } from "../../schemas/task.ts";
import { AvailableActions } from "../../schemas/taskOperation.ts";
import { anyone } from "../../trpc.ts";

const forTheSides = { description: "For the two sides, and moderators if there is a dispute." };

/** What a signed-in caller gets is from one snapshot. Source: docs/contract.md "Records". */
export const read = anyone
  .meta({
    rest: { method: "GET", path: "/tasks/{id}" },
    summary: "Read a task",
    description:
      "Returns a task and what you may see beside it. Anonymous callers get the public fields; signed-in callers " +
      "all fields, their own bids and `availableActions`; the buyer everyone's bids, up to 100. The buyer and the " +
      "awarded bidder, and a moderator's session if there is a dispute, also get samples, deliveries, the dispute " +
      "and ratings.",
    rateGroup: "publicRead",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("task") }))
  .output(
    z.object({
      task: TaskDetail,
      fileCount: z.int32().meta({ description: "Number of files of the brief.", example: 0 }),
      questionCount: z.int32().meta({ description: "Number of questions, without removed ones.", example: 0 }),
      availableActions: AvailableActions.optional(),
      bids: z.array(BidExcerpt).optional().meta({
        description: "For signed-in callers: the bids that you may see, up to 100, active and awarded ones first.",
      }),
      files: z.array(BriefFile).optional().meta({ description: "For signed-in callers: of the brief, oldest first." }),
      samples: z.array(Sample).optional().meta(forTheSides),
      deliveries: z.array(Delivery).optional().meta(forTheSides),
      agreement: Agreement.optional().meta({
        description:
          "For the two sides, and moderators if there is a dispute: the agreement that is pending, if there is one.",
      }),
      dispute: Dispute.optional().meta({ description: "For the two sides and moderators, if there is one." }),
      ratings: z.array(Rating).optional().meta(forTheSides),
    }),
  )
  .query(async ({ ctx, input }) => {
    const { principal, database, storage, settings } = ctx;
    const moment = momentOf(ctx);
    if (principal === null) {
      const task = taskAt(await findTask(database, input.id), moment);
      return { task: PublicTask.parse(task), ...countsOf(task) };
    }
    const { userId } = principal;
    const isParty = ({ task }: Detail) => task.buyerId === userId || task.awardedBidderId === userId;
    const shown = async (detail: Detail, knowsMore: boolean) => {
      const availableActions = availableActionsOf(detail.task, detail.facts, { principal, settings }, moment);
      const { changes, acceptsAt, acceptedBy, ...task } = taskAt(detail.task, moment);
      const checks = task.buyerId === userId ? checksWithKeys(task) : task.checks;
      const shownTask = { ...task, checks, ...(isParty(detail) && { changes, acceptsAt, acceptedBy }) };
      const files = await Promise.all(detail.files.map((row) => toBriefFile(ctx, row, knowsMore)));
      return { task: shownTask, ...countsOf(detail.task), availableActions, bids: detail.bids, files };
    };
    // Most callers are outsiders: one statement takes half of the CPU time that a snapshot for everybody takes (measured).
    const outside = await readDetail(database, input.id, userId);
    if (!isParty(outside) && !mayModerate(principal, settings)) return shown(outside, false);
    // Who may see more gets all of it from one snapshot, so the detail is read again.
    const knowsHidden = outside.task.awardedBidderId !== userId || outside.task.closedAt !== null;
    return database.snapshot(async (snapshot) => {
      const [detail, agreement, dispute, ratings, artifacts] = await Promise.all([
        readDetail(snapshot, input.id, userId),
        findPending(snapshot, input.id),
        findDisputeOfTask(snapshot, input.id),
        readRatings(snapshot, input.id),
        readArtifacts({ database: snapshot, storage }, input.id, knowsHidden),
      ]);
      const knowsMore = isParty(detail) || dispute !== null;
      const isPending = agreement !== null && !hasLapsed(agreement, detail.task, moment);
      const more = { ...artifacts, ...(isPending && { agreement }), ...(dispute && { dispute }), ratings };
      return { ...(await shown(detail, knowsMore)), ...(knowsMore && more) };
    });
  });

const countsOf = ({ fileCount, questionCount }: TaskRecord) => ({ fileCount, questionCount });
