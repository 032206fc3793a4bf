import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { Id } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

/** Revokes one of the caller's keys at once. A revoked key, or another user's, is `not_found`. */
export const revoke = sessionOnly
  .meta({
    rest: { method: "DELETE", path: "/keys/{id}", status: 204 },
    summary: "Revoke an API key",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id }))
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    const { count } = await ctx.database.prisma.apiKey.updateMany({
      where: { id: input.id, userId: ctx.userId, revokedAt: null },
      data: { revokedAt: ctx.clock.now() },
    });
    if (count === 0) throw new ApiError("not_found");
  });
