import { z } from "zod";
import { DisplayName, User } from "../../schemas/user.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const update = sessionOnly
  .meta({
    rest: { method: "PATCH", path: "/auth/me" },
    summary: "Change my display name",
    description: "Changes the name that other people see. Events that were recorded before keep the old one.",
  })
  .input(z.strictObject({ displayName: DisplayName }).meta({ id: "UpdateAccount" }))
  .output(z.object({ user: User.meta({ description: "You, with the new name." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => ({
      user: await queryOne<User>(
        tx,
        sql`
        UPDATE users SET display_name = ${input.displayName} WHERE id = ${ctx.userId}::uuid
        RETURNING id, email, display_name AS "displayName", created_at AS "createdAt",
                  email_verified_at AS "emailVerifiedAt"`,
      ),
    })),
  );
