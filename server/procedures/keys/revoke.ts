import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const revoke = sessionOnly
  .meta({
    rest: { method: "DELETE", path: "/keys/{id}", status: 204 },
    summary: "Revoke an API key",
    description:
      "Revokes one of your API keys at once: from then on, requests with it are `unauthenticated`. A key that is " +
      "revoked already, or another user's, is `not_found`.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("API key") }))
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [revoked] = await tx.query(sql`
        UPDATE api_keys SET revoked_at = ${ctx.clock.now().toISOString()}::timestamptz
        WHERE id = ${input.id}::uuid AND user_id = ${ctx.userId}::uuid AND revoked_at IS NULL RETURNING id`);
      if (!revoked) throw new ApiError("not_found");
      tx.onCommit(() => ctx.securityLog.record(ctx, "key.revoked", { revokedKeyId: input.id }));
    }),
  );
