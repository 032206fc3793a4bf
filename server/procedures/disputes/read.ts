import { z } from "zod";
import { disputeReader, getDisputeCase } from "../../market/disputes/records.ts";
import { Id } from "../../schemas/common.ts";
import { Dispute, disputeCase } from "../../schemas/dispute.ts";
import { signedIn } from "../../trpc.ts";

/**
 * Returns a dispute with everything a decision needs, to a moderator's session and to the parties. Throws `not_found`
 * for anyone else.
 */
export const read = signedIn
  .meta({ rest: { method: "GET", path: "/disputes/{id}" }, summary: "Read a dispute", errors: ["not_found"] })
  .input(z.strictObject({ id: Id }))
  .output(z.object({ dispute: Dispute, ...disputeCase }))
  .query(({ ctx, input }) => getDisputeCase(ctx, input.id, disputeReader(ctx.principal, ctx.settings)));
