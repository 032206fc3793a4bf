import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "POST", path: "/notifications/read", status: 204 },
    summary: "Mark notifications as read",
    description:
      "Marks one of your notifications and all older ones as read. None becomes unread again. It changes nothing about what they " +
      "ask of you.",
    errors: ["not_found"],
  })
  .input(
    z
      .strictObject({ upTo: idOf("notification", "The newest notification that you have seen.") })
      .meta({ id: "MarkNotificationsRead" }),
  )
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [newest] = await tx.query<{ createdAt: string }>(sql`
        SELECT created_at AS "createdAt" FROM notifications
        WHERE id = ${input.upTo}::uuid AND user_id = ${ctx.userId}::uuid`);
      if (newest === undefined) throw new ApiError("not_found");
      await tx.query(sql`
        UPDATE notifications SET read = true
        WHERE user_id = ${ctx.userId}::uuid AND NOT read AND created_at <= ${newest.createdAt}::timestamptz`);
    }),
  );
