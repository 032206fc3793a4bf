import { z } from "zod";
import { DisplayName, TimeZone, User } from "../../schemas/user.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const update = sessionOnly
  .meta({
    rest: { method: "PATCH", path: "/auth/me" },
    summary: "Change my profile",
    description:
      "Changes the name that other people see, your time zone, or both. Events that were recorded before keep the old name. " +
      "The daily mail comes at 8:00 in your zone.",
  })
  .input(
    z
      .strictObject({ displayName: DisplayName.optional(), timeZone: TimeZone.nullable().optional() })
      .refine((changes) => Object.values(changes).some((value) => value !== undefined), {
        message: "Name at least one field to change.",
      })
      .meta({ id: "UpdateAccount" }),
  )
  .output(z.object({ user: User.meta({ description: "You, changed." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => ({
      user: await queryOne<User>(
        tx,
        sql`
        UPDATE users SET display_name = coalesce(${input.displayName ?? null}, display_name),
               time_zone = CASE WHEN ${input.timeZone !== undefined} THEN ${input.timeZone ?? null} ELSE time_zone END
        WHERE id = ${ctx.userId}::uuid
        RETURNING id, email, display_name AS "displayName", created_at AS "createdAt",
                  email_verified_at AS "emailVerifiedAt", time_zone AS "timeZone"`,
      ),
    })),
  );
