import { z } from "zod";
import { suspendUser } from "../../market/accounts/suspension.ts";
import { idOf } from "../../schemas/common.ts";
import { ModeratedUser, Reason } from "../../schemas/moderation.ts";
import { moderator } from "../../trpc.ts";

export const suspend = moderator
  .meta({
    rest: { method: "POST", path: "/users/{id}/suspend" },
    summary: "Suspend a user",
    description:
      "Suspends a user, as a moderator: deletes their sessions and API keys for good, and hides what they post from then " +
      "on. Within seconds their open tasks are cancelled, with the holds returned, and their active bids " +
      "withdrawn. Awarded tasks continue, so that the other side loses nothing. A repeat changes nothing.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("user"), reason: Reason }))
  .output(z.object({ user: ModeratedUser.meta({ description: "The user, suspended." }) }))
  .mutation(({ ctx, input: { id, reason } }) =>
    ctx.change(async (tx) => ({
      user: await suspendUser(tx, ctx, { userId: id, by: ctx, reason }),
    })),
  );
