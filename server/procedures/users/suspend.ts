import { z } from "zod";
import { suspendUser } from "../../market/accounts/suspension.ts";
import { Id } from "../../schemas/common.ts";
import { ModeratedUser, Reason } from "../../schemas/moderation.ts";
import { moderator } from "../../trpc.ts";

/** Suspends a user. Repeated, it changes nothing. */
export const suspend = moderator
  .meta({
    rest: { method: "POST", path: "/users/{id}/suspend" },
    summary: "Suspend a user",
    description:
      "Deletes the user's sessions and API keys for good. Their open tasks are cancelled and their active bids withdrawn within " +
      "seconds; what is awarded or later goes its way.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id, reason: Reason }))
  .output(z.object({ user: ModeratedUser }))
  .mutation(({ ctx, input: { id, reason } }) =>
    ctx.change(async (tx) => ({
      user: await suspendUser(tx, ctx, { userId: id, by: ctx, reason }),
    })),
  );
