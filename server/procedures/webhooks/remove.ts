import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { Id } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { stopDeliveries } from "../../webhooks/complete.ts";

/** Deletes an endpoint and its secret. Nothing more is sent to it, and its deliveries are deleted after 30 days. */
export const remove = scoped("webhook:write")
  .meta({
    rest: { method: "DELETE", path: "/webhooks/{id}", status: 204 },
    summary: "Delete a webhook endpoint",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id }))
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [deleted] = await tx.query(sql`
        UPDATE webhook_endpoints SET deleted_at = clock_timestamp(), signing_secret = ''
        WHERE id = ${input.id}::uuid AND user_id = ${ctx.userId}::uuid AND deleted_at IS NULL RETURNING id`);
      if (!deleted) throw new ApiError("not_found");
      await stopDeliveries(tx, [input.id]);
    }),
  );
