import { z } from "zod";
import { readPreferences } from "../../notifications/preferences.ts";
import { Preferences, UpdatePreferences } from "../../schemas/notification.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const updatePreferences = sessionOnly
  .meta({
    rest: { method: "PATCH", path: "/notifications/preferences" },
    summary: "Change how I am told",
    description:
      "Changes how you are told of the kinds that you send, from the next notification on. Mails about your account cannot be off.",
  })
  .input(UpdatePreferences)
  .output(z.object({ preferences: Preferences.meta({ description: "All of them, changed." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      for (const [kind, { mail = null, push = null }] of Object.entries(input).toSorted()) {
        await tx.query(sql`
          INSERT INTO notification_preferences AS p (user_id, kind, mail, push)
          VALUES (${ctx.userId}::uuid, ${kind}, ${mail}, ${push})
          ON CONFLICT (user_id, kind) DO UPDATE
          SET mail = coalesce(excluded.mail, p.mail), push = coalesce(excluded.push, p.push), updated_at = service_now()`);
      }
      return { preferences: await readPreferences(tx, ctx.userId) };
    }),
  );
