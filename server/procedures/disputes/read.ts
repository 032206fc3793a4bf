import { z } from "zod";
import { disputeReader, getDisputeCase } from "../../market/disputes/records.ts";
import { idOf } from "../../schemas/common.ts";
import { Dispute, disputeCase } from "../../schemas/dispute.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/disputes/{id}" },
    summary: "Read a dispute",
    description:
      "Returns a dispute with everything that a decision needs: the task and its frozen brief, the awarded bid, samples, " +
      "deliveries, what was said in questions, answers and messages, and " +
      "the reputations of both sides. It is for the two sides and for a moderator's session; for anyone else it is " +
      "`not_found`.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("dispute") }))
  .output(
    z
      .object({ dispute: Dispute.meta({ description: "The dispute." }), ...disputeCase })
      .meta({ id: "DisputeCase", description: "A dispute, with what a decision needs." }),
  )
  .query(({ ctx, input }) => getDisputeCase(ctx, input.id, disputeReader(ctx.principal, ctx.settings), ctx));
