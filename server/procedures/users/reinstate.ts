import { z } from "zod";
import { reinstateUser } from "../../market/accounts/suspension.ts";
import { Id } from "../../schemas/common.ts";
import { ModeratedUser, Reason } from "../../schemas/moderation.ts";
import { moderator } from "../../trpc.ts";

/** Lifts a suspension. Repeated, it changes nothing. */
export const reinstate = moderator
  .meta({
    rest: { method: "POST", path: "/users/{id}/reinstate" },
    summary: "Reinstate a user",
    description: "The user can sign in again. Sessions, API keys, tasks and bids that the suspension ended stay ended.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id, reason: Reason.optional() }))
  .output(z.object({ user: ModeratedUser }))
  .mutation(({ ctx, input: { id, reason } }) =>
    ctx.change(async (tx) => ({ user: await reinstateUser(tx, ctx, { userId: id, by: ctx, reason }) })),
  );
