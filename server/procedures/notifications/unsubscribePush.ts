import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const unsubscribePush = sessionOnly
  .meta({
    rest: { method: "DELETE", path: "/notifications/push/{id}", status: 204 },
    summary: "Turn push off for a browser",
    description: "Forgets the push subscription of one of your browsers: nothing more is sent to it.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("push subscription") }))
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [deleted] = await tx.query(sql`
        DELETE FROM push_subscriptions WHERE id = ${input.id}::uuid AND user_id = ${ctx.userId}::uuid RETURNING 1`);
      if (!deleted) throw new ApiError("not_found");
    }),
  );
