import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { deleteEndpoints } from "../../webhooks/deleteEndpoints.ts";

export const remove = scoped("webhook:write")
  .meta({
    rest: { method: "DELETE", path: "/webhooks/{id}", status: 204 },
    summary: "Delete a webhook endpoint",
    description:
      "Deletes one of your endpoints and its secret. Nothing more is sent to it, and its deliveries are deleted " +
      "after 30 days.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("webhook endpoint") }))
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const deleted = await deleteEndpoints(tx, sql`id = ${input.id}::uuid AND user_id = ${ctx.userId}::uuid`);
      if (deleted.length === 0) throw new ApiError("not_found");
    }),
  );
