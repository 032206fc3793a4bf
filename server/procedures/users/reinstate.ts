import { z } from "zod";
import { reinstateUser } from "../../market/accounts/suspension.ts";
import { idOf } from "../../schemas/common.ts";
import { ModeratedUser, Reason } from "../../schemas/moderation.ts";
import { moderator } from "../../trpc.ts";

export const reinstate = moderator
  .meta({
    rest: { method: "POST", path: "/users/{id}/reinstate" },
    summary: "Reinstate a user",
    description:
      "Lifts a suspension, as a moderator: the user can sign in again. Sessions, API keys, tasks and bids that the " +
      "suspension ended stay ended. A repeat changes nothing.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("user"), reason: Reason.optional() }))
  .output(z.object({ user: ModeratedUser.meta({ description: "The user." }) }))
  .mutation(({ ctx, input: { id, reason } }) =>
    ctx.change(async (tx) => ({ user: await reinstateUser(tx, ctx, { userId: id, by: ctx, reason }) })),
  );
