import { z } from "zod";
import { type NotificationRow, notificationOf, selectNotifications, toldTo } from "../../notifications/records.ts";
import { NextCursor } from "../../schemas/common.ts";
import { ListNotifications, Notification } from "../../schemas/notification.ts";
import { empty, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/notifications" },
    summary: "List my notifications",
    description:
      "Lists what others, the clock and your own agents did that concerns you, newest first: a view of the event log, kept as " +
      "long as that. What you did yourself in a session is not in it. `needsAction` is as of now, whatever was so when you were told.",
  })
  .input(ListNotifications)
  .output(
    z.object({ notifications: z.array(Notification).meta({ description: "Newest first." }), nextCursor: NextCursor }),
  )
  .query(async ({ ctx, input }) => {
    const unread = input.unread === true ? sql`AND NOT n.read` : empty;
    const { rows, nextCursor } = await readPage<NotificationRow>(ctx.database, "notifications.list", {
      ...input,
      select: selectNotifications,
      where: sql`n.user_id = ${ctx.userId}::uuid ${unread} ${toldTo(ctx.principal)}`,
    });
    const { publicUrl } = ctx.settings;
    return { notifications: rows.map((row) => notificationOf(row, publicUrl)), nextCursor };
  });
